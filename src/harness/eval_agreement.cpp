#include "eval_agreement.hpp"

#include <algorithm>
#include <limits>

#include "thinwire/eval/agreement.hpp"

namespace thinwire::harness {

SampleAgreement compare_sample(std::span<const SequenceOutputs> ours,
                               std::span<const SequenceOutputs> single, model::HeadKind head) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto sequences = static_cast<double>(ours.size());
  SampleAgreement mean;
  for (std::size_t s = 0; s < ours.size(); ++s) {
    const eval::OutputAgreement one =
        eval::compare_outputs(ours[s].values.view(), single[s].values.view(), head);
    mean.top1 += one.same_top1.value_or(kNone) / sequences;
    mean.kl_divergence += one.kl_divergence.value_or(kNone) / sequences;
    mean.lost_margin = std::max(one.lost_margin.value_or(kNone), mean.lost_margin);
    mean.cosine += one.cosine / sequences;
    mean.relative_difference = std::max(mean.relative_difference, one.relative_difference);
  }
  return mean;
}

std::vector<double> hidden_cosines(const eval::Sample& sample,
                                   std::span<const SequenceOutputs> ours,
                                   std::span<const SequenceOutputs> single) {
  const std::size_t states = ours.front().hidden.size();
  std::vector<double> sums(states + 1);
  for (std::size_t s = 0; s < ours.size(); ++s) {
    const model::ModelInput& input = sample.sequences[s];
    double rows = 0;
    for (Index row = 0; row < ours[s].hidden.front().rows(); ++row)
      rows += input.is_real(row) ? 1 : 0;
    for (std::size_t i = 0; i < states; ++i)
      sums[i] +=
          rows * eval::compare_hidden(ours[s].hidden[i].view(), single[s].hidden[i].view(), input)
                     .mean_cosine;
    sums[states] += rows;
  }
  return sums;
}

}  // namespace thinwire::harness
