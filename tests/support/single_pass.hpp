#pragma once
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "thinwire/model/model.hpp"
#include "thinwire/ops/attention.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::test {

/// Everything a pass over one device computes on its way.
struct SinglePass {
  std::vector<Matrix<float>> hidden;  ///< [0] after the embedding, [l + 1] after block l
  std::vector<Matrix<float>> z;       ///< [l] after attention and its residual
  Matrix<float> logits;               ///< empty for mean_pooling
  Matrix<float> mean_pooled;          ///< [1, hidden], text models
};

inline Matrix<float> clone(MatrixView<const float> from) {
  Matrix<float> to(from.rows(), from.cols());
  copy(from, to.view());
  return to;
}

inline Matrix<float> embed(const model::Model& model, const model::ModelInput& input, Slice rows) {
  Matrix<float> x(rows.size, model.config().hidden);
  Matrix<float> patches(rows.size, model.config().patch_inputs());
  Operations counted;
  model.embedding()(input, rows, x.view(), patches.view(), counted);
  return x;
}

inline Matrix<float> head_of(const model::Model& model, MatrixView<const float> last) {
  const model::ModelConfig& config = model.config();
  Operations counted;
  Matrix<float> x = clone(last), pooled(1, config.hidden);
  model.head().normalise(x.view(), counted);
  if (config.head == model::HeadKind::mean_pooling) return {};
  const bool is_language_model = config.head == model::HeadKind::language_model;
  Matrix<float> logits(is_language_model ? x.rows() : 1,
                       is_language_model ? config.vocabulary : config.labels);
  if (is_language_model)
    model.head().language_model(x.view(), logits.view(), counted);
  else
    model.head().classify(x.first(1), pooled.view(), logits.view(), counted);
  return logits;
}

inline Matrix<float> mean_of(MatrixView<const float> last, const model::ModelInput& input) {
  Matrix<float> mean(1, last.cols());
  model::sum_real_rows(last, 0, input, mean.view());
  Index real = 0;
  for (Index i = 0; i < last.rows(); ++i) real += input.is_real(i) ? 1 : 0;
  for (float& value : mean.view().row(0)) value /= static_cast<float>(real);
  return mean;
}

/// The columns of one device that sees everything.
class WholeSequence {
 public:
  WholeSequence(const model::ModelConfig& config, const model::ModelInput& input)
      : log_counts_(static_cast<std::size_t>(input.tokens(config))),
        positions_(log_counts_.size()) {
    std::iota(positions_.begin(), positions_.end(), 0);
    for (std::size_t i = 0; i < log_counts_.size(); ++i)
      log_counts_[i] =
          input.is_real(static_cast<Index>(i)) ? 0 : -std::numeric_limits<float>::infinity();
  }
  MatrixView<float> append_to(ops::KvContext& context) const {
    return context.append(log_counts_, positions_);
  }
  std::span<const std::int32_t> positions() const { return positions_; }

 private:
  std::vector<float> log_counts_;
  std::vector<std::int32_t> positions_;
};

inline SinglePass single_pass(const model::Model& model, const model::ModelInput& input) {
  const model::ModelConfig& config = model.config();
  const Index tokens = input.tokens(config), hidden = config.hidden;
  auto* memory = std::pmr::new_delete_resource();
  const WholeSequence sequence(config, input);
  ops::KvContext context(tokens, hidden, memory);
  ops::Attention attention(config.heads, config.head_dim(),
                           config.is_causal() ? ops::Mask::causal : ops::Mask::none, tokens, tokens,
                           ops::threads(), memory);
  Matrix<float> scratch(tokens, hidden), query(tokens, hidden), ffn(tokens, config.ffn);
  Operations counted;
  SinglePass pass;
  Matrix<float> x = embed(model, input, {0, tokens});
  pass.hidden.push_back(clone(x.view()));
  for (Index layer = 0; layer < config.layers; ++layer) {
    const model::Block& block = model.block(layer);
    const MatrixView<const float> rows = block.kv_input(x.view(), scratch.view(), counted);
    block.project_query(rows, query.view(), counted);
    context.clear();
    block.project_kv(rows, sequence.append_to(context), counted);
    attention(query.view(), context, sequence.positions(), scratch.view(), counted);
    block.attention_residual(scratch.view(), x.view(), counted);
    pass.z.push_back(clone(x.view()));
    block.finish(x.view(), scratch.view(), ffn.view(), counted);
    pass.hidden.push_back(clone(x.view()));
  }
  pass.logits = head_of(model, x.view());
  if (config.is_text()) pass.mean_pooled = mean_of(x.view(), input);
  return pass;
}

}  // namespace thinwire::test
