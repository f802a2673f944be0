#pragma once
#include <optional>

#include "thinwire/model/model_input.hpp"
#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::eval {

/// How far a strategy's outputs are from the single device's; no label is needed, so that it serves
/// random weights, too. Not-a-number anywhere in the outputs shows in every figure that it touches.
struct OutputAgreement {
  /// Share of rows with the same largest logit (ties to the lower class): 0 or 1 for a classifier's
  /// one row. Nothing for embeddings and for a regression's one output, which are no classes; so
  /// are the next two.
  std::optional<double> same_top1;
  /// D(single || ours) of the softmax outputs, in nats: mean over rows, in fp64.
  std::optional<double> kl_divergence;
  /// By how much single preferred its class to ours in rows where they differ, over max |single|:
  /// the most of all rows, 0 where all agree. A small one is a tie that rounding broke.
  std::optional<double> lost_margin;
  double cosine = 0;               ///< mean over rows
  double relative_difference = 0;  ///< max |ours - single| / max |single|, over all rows
};

/// ours, single: logits [1, labels], logits [N, vocabulary], or an embedding [1, hidden]
/// Throws Error for views of different shapes, or without rows.
OutputAgreement compare_outputs(MatrixView<const float> ours, MatrixView<const float> single,
                                model::HeadKind head);

/// How far two [N, D] hidden states are apart, over real rows.
struct HiddenAgreement {
  double mean_cosine = 0, least_cosine = 0;  ///< of rows
  double relative_difference = 0;            ///< max |a - b| / max |b|
};
HiddenAgreement compare_hidden(MatrixView<const float> a, MatrixView<const float> b,
                               const model::ModelInput& input);

}  // namespace thinwire::eval
