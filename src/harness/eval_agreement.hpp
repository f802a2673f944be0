#pragma once
#include <span>
#include <vector>

#include "thinwire/base/types.hpp"
#include "thinwire/eval/sample.hpp"
#include "thinwire/harness/eval_replica.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::harness {

/// Hidden states are large: the first samples alone are looked into.
inline constexpr Index kHiddenSamples = 64;

/// How one sample's outputs agree with the single device's; means over its sequences, the largest
/// where a difference is meant. NaN for what an embedding does not have. Travels between ranks.
struct SampleAgreement {
  double top1 = 0, kl_divergence = 0, lost_margin = 0;
  double cosine = 0, relative_difference = 0;
};
SampleAgreement compare_sample(std::span<const SequenceOutputs> ours,
                               std::span<const SequenceOutputs> single, model::HeadKind head);

/// Of one sample: for every hidden state the sum over real rows of the cosine to the single
/// device's, then the number of these rows.   [hidden_width(config)]
std::vector<double> hidden_cosines(const eval::Sample& sample,
                                   std::span<const SequenceOutputs> ours,
                                   std::span<const SequenceOutputs> single);
inline Index hidden_width(const model::ModelConfig& config) {
  return config.layers + 2;
}

}  // namespace thinwire::harness
