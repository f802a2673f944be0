#include "record_parts.hpp"

namespace thinwire::harness {
namespace {

/// What was counted, else what the formula says.
Json calibration_flops(const Result& result) {
  const Convention convention = result.spec.convention;
  if (result.calibration) return flops(result.calibration->operations, convention);
  if (result.predictions.empty()) return nullptr;
  return flops(result.predictions.front().calibration, convention);
}

}  // namespace

Json codebook_section(const Result& result) {
  if (!result.codebook) return nullptr;
  const RunSpec& spec = result.spec;
  Json section = {{"source", result.codebook->source},
                  {"fingerprint", result.codebook->fingerprint},
                  {"codewords", spec.codewords.value_or(0)},
                  {"active_codewords", spec.active_codewords.value_or(spec.codewords.value_or(0))},
                  {"levels", result.codebook->levels},
                  {"calibration_s",
                   result.calibration ? finite_or_null(result.calibration->time_s) : Json(nullptr)},
                  {"calibration_flops", calibration_flops(result)}};
  if (spec.level_control != strategy::LevelControl::fixed) {
    section["frames_by_level"] = frames_by_level(result.frames, result.codebook->levels);
    section["mean_index_bits"] = finite_or_null(mean_index_bits(result.frames));
  }
  return section;
}

}  // namespace thinwire::harness
