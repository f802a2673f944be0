#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "thinwire/base/types.hpp"
#include "thinwire/harness/statistics.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire::harness {

/// How fast a device is that has `rows` of a sequence's tokens.
struct BlockRate {
  Index rows = 0;
  std::int64_t flops = 0;  ///< of a pass over all blocks (convention paper), as counted
  Summary gflops;          ///< GFLOP/s of the passes, one an iteration
};

/// How often, and with what.
struct BlockRateOptions {
  int threads = 1;
  int iterations = 10, warmup = 2;
};

/// Times a model's blocks at each row count: Q, K, V of the device's rows, attention over the K and
/// V of max(rows, the model's tokens), the feed-forward layer. A pass runs all blocks in turn, so
/// that a block's weights are as cold as in an inference. Row counts take turns, so that a machine
/// that slows down does so for all.
///   rows         each at least 1, in any order
///   on_progress  told the part of the operations that is done, 0 to 1, after every pass
std::vector<BlockRate> measure_block_rates(const model::Model& model, std::span<const Index> rows,
                                           const BlockRateOptions& options,
                                           const std::function<void(double)>& on_progress);

}  // namespace thinwire::harness
