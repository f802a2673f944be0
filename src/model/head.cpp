#include "thinwire/model/head.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "weight_reader.hpp"

namespace thinwire::model {
namespace {

/// Tied to the token table, unless the checkpoint brings a copy of its own.
ops::Linear make_language_model(const ModelConfig& config, const Embedding& embedding,
                                WeightReader& reader) {
  if (!reader.source().has("lm_head.weight")) return reader.tied(embedding.token_table());
  return reader.linear("lm_head", std::array{config.vocabulary, config.hidden}, {}, HasBias::no);
}

}  // namespace

Head::Head(const ModelConfig& config, const Embedding& embedding, WeightSource& source,
           WeightPlace place)
    : kind_(config.head) {
  WeightReader reader(source, place);
  const Index hidden = config.hidden;
  if (kind_ == HeadKind::class_token || kind_ == HeadKind::language_model)
    norm_ = reader.layer_norm(kind_ == HeadKind::class_token ? "layernorm" : "ln_f", hidden,
                              config.layer_norm_epsilon);
  if (kind_ == HeadKind::pooler)
    pooler_ = reader.linear("pooler.dense", std::array{hidden, hidden}, {});
  if (kind_ == HeadKind::pooler || kind_ == HeadKind::class_token)
    classifier_ = reader.linear("classifier", std::array{config.labels, hidden}, {});
  if (kind_ == HeadKind::language_model)
    language_model_ = make_language_model(config, embedding, reader);
}

void Head::normalise(MatrixView<float> x, Operations& counted) const {
  if (norm_) (*norm_)(x, x, counted);
}

void Head::classify(MatrixView<const float> first_row, MatrixView<float> scratch,
                    MatrixView<float> logits, Operations& counted) const {
  TW_REQUIRE(classifier_.has_value(), "head {} does not classify", static_cast<int>(kind_));
  TW_REQUIRE(first_row.rows() == 1, "{} rows for a classifier of row 0", first_row.rows());
  if (pooler_) {
    (*pooler_)(first_row, scratch, counted);
    for (float& value : scratch.row(0)) value = std::tanh(value);
    first_row = scratch;
  }
  (*classifier_)(first_row, logits, counted);
}

void Head::language_model(MatrixView<const float> x, MatrixView<float> logits,
                          Operations& counted) const {
  TW_REQUIRE(language_model_.has_value(), "head {} is no language model", static_cast<int>(kind_));
  (*language_model_)(x, logits, counted);
}

void sum_real_rows(MatrixView<const float> x, Index begin, const ModelInput& input,
                   MatrixView<float> sum) {
  TW_REQUIRE(sum.rows() == 1 && sum.cols() == x.cols(), "sum is [{}, {}] for {} columns",
             sum.rows(), sum.cols(), x.cols());
  const std::span<float> total = sum.row(0);
  std::ranges::fill(total, 0.0F);
  for (Index r = 0; r < x.rows(); ++r) {
    if (!input.is_real(begin + r)) continue;
    const std::span<const float> row = x.row(r);
    for (std::size_t c = 0; c < total.size(); ++c) total[c] += row[c];
  }
}

}  // namespace thinwire::model
