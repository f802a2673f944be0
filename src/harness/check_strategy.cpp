#include "check_strategy.hpp"

#include <algorithm>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/spec_text.hpp"
#include "thinwire/harness/strategy_traits.hpp"

namespace thinwire::harness {
namespace {

constexpr Index kMostCodewords = 65536;  // indices have 16 bits at most

/// Refuses a value that differs from the default where nothing would read it.
///   reason  "only prism has segments"
void require_concern(const RunSpec& spec, bool is_concerned, std::string_view reason,
                     std::initializer_list<std::string_view> options) {
  if (is_concerned) return;
  for (const std::string_view option : options) {
    const Field& field = find_field(option);
    const Json value = field.to_json(spec);
    if (value != field.to_json(RunSpec{}))
      throw InputError(fmt::format("--{}={} with --strategy={}: {}", option, flag_text(value),
                                   spec.strategy, reason));
  }
}

void check_concerns(const RunSpec& spec) {
  const StrategyTraits traits = traits_of(spec.strategy);
  require_concern(spec, spec.strategy == "prism", "only prism has segments",
                  {"segments", "compression-rate", "scaling"});
  require_concern(spec, sends_rows(spec.strategy),
                  "only voltage and prism send rows of activations as their method", {"payload"});
  require_concern(spec, traits.has_groups(), "only astra has groups of 16-bit indices",
                  {"groups", "index-bits"});
  require_concern(spec, traits.has_groups(), "only astra can replicate the class token",
                  {"class-token"});
  require_concern(spec, traits.has_codebooks(), "only astra and trace have codebooks",
                  {"codebook", "codewords", "level", "active-codewords", "index-coding"});
  require_concern(spec, traits.has_buffers(), "only trace-b and trace-2a have buffers",
                  {"buffers"});
  require_concern(spec, traits.splits_tokens, "only strategies that split the tokens can overlap",
                  {"overlap"});
  require_concern(spec, spec.strategy == "pipeline", "only pipeline has micro-batches",
                  {"micro-batches"});
}

void check_segments(const RunSpec& spec) {
  if (spec.segments)
    require_input(*spec.segments >= 1,
                  "--segments={}: a device publishes at least one mean (write 1 or more)",
                  *spec.segments);
  if (spec.compression_rate)
    require_input(*spec.compression_rate >= 1,
                  "--compression-rate={}: nothing is smaller than before (write 1 or more)",
                  *spec.compression_rate);
  require_input(!spec.segments || !spec.compression_rate,
                "--segments={} and --compression-rate={}: one follows from the other, give one",
                spec.segments.value_or(0), spec.compression_rate.value_or(0));
  require_input(spec.strategy != "prism" || spec.segments || spec.compression_rate,
                "--strategy=prism: --segments (such as 10) or --compression-rate is needed");
}

void check_codebook(const RunSpec& spec) {
  require_input(spec.index_coding == compress::IndexCoding::fixed || spec.has_codebook_file(),
                "--index-coding={} with random codebooks: nobody knows how often their indices "
                "occur (give --codebook FILE of `codebook train`, or --index-coding=fixed)",
                compress::to_string(spec.index_coding));
  require_input(spec.groups >= 1, "--groups={}: a row has at least one group", spec.groups);
  require_input(!spec.is_level_auto || !spec.active_codewords,
                "--level=auto and --active-codewords={}: both choose a level, give one",
                spec.active_codewords.value_or(0));
  const bool is_controlled = spec.level_control != strategy::LevelControl::fixed;
  require_input(!is_controlled || !spec.active_codewords,
                "--level={} and --active-codewords={}: both choose a level, give one",
                strategy::to_string(spec.level_control), spec.active_codewords.value_or(0));
  require_input(!is_controlled || !traits_of(spec.strategy).has_groups(),
                "--level={} with --strategy={}: only trace has levels to choose from",
                strategy::to_string(spec.level_control), spec.strategy);
  require_input(spec.index_coding != compress::IndexCoding::cross_layer ||
                    spec.loss_policy() == fabric::OnLoss::retransmit,
                "--index-coding=cross-layer with --on-loss={}: a frame can be read when all before "
                "it have arrived (write --index-coding=entropy, or --on-loss=retransmit)",
                to_string(spec.on_loss));
  const Index codewords = spec.codewords.value_or(kMostCodewords);
  require_input(codewords >= 2 && codewords <= kMostCodewords,
                "--codewords={}: a codebook has 2 to {}", codewords, kMostCodewords);
}

/// Whether a device can have as few tokens as --segments asks for means.
std::optional<std::string> segments_misfit(const RunSpec& spec, Index tokens) {
  const Index segments = segments_for(spec, tokens);
  const std::vector<Slice> slices =
      partition(tokens, spec.devices, spec.partition, spec.partition_weights());
  const auto smallest = std::ranges::min_element(slices, {}, &Slice::size);
  if (segments <= smallest->size) return std::nullopt;
  const std::string given = spec.segments ? fmt::format("--segments={}", segments)
                                          : fmt::format("--compression-rate={} ({} segments)",
                                                        *spec.compression_rate, segments);
  return fmt::format("{}: device {} has {} of {} tokens, and a segment needs one (at most {})",
                     given, smallest - slices.begin(), smallest->size, tokens, smallest->size);
}

/// Of what a strategy divides, each device needs a piece.
struct Pieces {
  std::string_view name;
  Index count = 0;
};

Pieces pieces_of(const RunSpec& spec, const model::ModelConfig& config, Index tokens) {
  if (spec.strategy == "tensor") return {"heads", config.heads};
  if (spec.strategy == "pipeline") return {"blocks", config.layers};
  if (spec.class_token == strategy::ClassToken::replicated)
    return {"tokens beside the class token", tokens - 1};
  return {"tokens", tokens};
}

}  // namespace

void check_strategy_options(const RunSpec& spec) {
  check_concerns(spec);
  check_segments(spec);
  check_codebook(spec);
  require_input(spec.micro_batches >= 1, "--micro-batches={}: at least one input is in flight",
                spec.micro_batches);
  require_input(spec.collect == strategy::Collect::last || spec.has_terminal(),
                "--collect=all with --io=replicated: only a terminal collects (--io=terminal)");
}

void check_strategy_options(const RunSpec& spec, const model::ModelConfig& config) {
  require_input(config.hidden % spec.groups == 0,
                "--groups={}: rows of {} have {} columns, which do not divide into so many groups",
                spec.groups, config.name, config.hidden);
  require_input(spec.class_token == strategy::ClassToken::partitioned || !config.is_text(),
                "--class-token=replicated: {} is a text model, without a class token", config.name);
  require_input(
      spec.collect == strategy::Collect::last || config.head == model::HeadKind::language_model,
      "--collect=all: {} gives one answer (only language models give one a row)", config.name);
}

std::optional<std::string> strategy_misfit(const RunSpec& spec, const model::ModelConfig& config,
                                           Index tokens) {
  const Pieces pieces = pieces_of(spec, config, tokens);
  if (spec.devices > pieces.count)
    return fmt::format("--devices={}: {} {} cannot be split over more than {} devices",
                       spec.devices, pieces.count, pieces.name, pieces.count);
  if (spec.segments || spec.compression_rate) return segments_misfit(spec, tokens);
  return std::nullopt;
}

std::optional<std::string> division_misfit(RunSpec spec, const model::ModelConfig& config,
                                           Index tokens) {
  // No division gives the device with the fewest rows more than this one.
  if (spec.partition == PartitionPolicy::automatic) spec.partition = PartitionPolicy::balanced;
  return strategy_misfit(spec, config, tokens);
}

}  // namespace thinwire::harness
