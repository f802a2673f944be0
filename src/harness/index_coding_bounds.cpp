#include "thinwire/harness/index_coding_bounds.hpp"

#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {

void add_bounds(IndexCodingBounds& bounds, RunSpec spec, const model::ModelConfig& config,
                Index tokens) {
  if (spec.index_coding == compress::IndexCoding::fixed) return;
  spec.expected_index_bits.clear();
  bounds.worst.push_back(cost::predict(to_workload(spec, config, tokens)));
  spec.index_coding = compress::IndexCoding::fixed;
  bounds.fixed.push_back(cost::predict(to_workload(spec, config, tokens)));
}

std::vector<std::int64_t> frame_bits(const cost::Prediction& prediction,
                                     const compress::CodebookUse& use) {
  std::vector<std::int64_t> bits;
  for (const cost::ScheduledExchange& exchange : prediction.exchanges) {
    if (exchange.kind != cost::ScheduledExchange::Kind::all_gather) continue;
    std::int64_t bytes = 0;
    if (use.codes(std::ssize(bits)))
      for (const std::int64_t of_device : exchange.bytes) bytes += of_device;
    bits.push_back(8 * bytes);
  }
  return bits;
}

}  // namespace thinwire::harness
