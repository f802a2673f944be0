#pragma once
#include <optional>
#include <vector>

#include "thinwire/cost/workload.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// What data-dependent frames are held against, one a sequence: the longest that they can be, and
/// what index-coding=fixed would send. Empty where sizes follow from the configuration.
struct IndexCodingBounds {
  std::vector<cost::Prediction> worst, fixed;
  bool empty() const { return worst.empty(); }
};

/// Adds those of a sequence of `tokens`; nothing where spec.index_coding is fixed.
void add_bounds(IndexCodingBounds& bounds, RunSpec spec, const model::ModelConfig& config,
                Index tokens);

/// Bits of the coded exchanges' frames, all devices together, [layers]; 0 where rows are sent raw.
std::vector<std::int64_t> frame_bits(const cost::Prediction& prediction,
                                     const compress::CodebookUse& use);

}  // namespace thinwire::harness
