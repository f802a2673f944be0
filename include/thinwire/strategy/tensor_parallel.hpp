#pragma once
#include <memory>

#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// Megatron-LM (METHODS 4): every device holds every row and computes some heads and some columns
/// of the feed-forward layer; two ring all-reduces of N * hidden values a block add up the parts,
/// after which all devices hold bitwise the same rows. Embedding and norms are everyone's work,
/// a language model's head is split by rows, other heads are device 0's.
/// Its part of the weights is packed anew beside the model's, on the heap.
/// One device is the strategy "single".
/// A terminal sends every row to every device.
/// Throws InputError when P exceeds the heads or N.
std::unique_ptr<Strategy> make_tensor_parallel(const model::Model& model,
                                               const StrategyOptions& options,
                                               const DeviceRole& role);

}  // namespace thinwire::strategy
