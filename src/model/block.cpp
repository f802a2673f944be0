#include "thinwire/model/block.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "weight_reader.hpp"

namespace thinwire::model {

/// GPT-2 has Q, K and V in one tensor, so that the three names are the same.
struct Block::Names {
  std::string norm1, norm2, query, key, value, output, up, down;

  static Names of(Family family, Index layer) {
    const std::string number = std::to_string(layer);
    if (family == Family::gpt2) {
      const std::string h = "h." + number + ".", fused = h + "attn.c_attn";
      return {h + "ln_1", h + "ln_2",        fused,          fused,
              fused,      h + "attn.c_proj", h + "mlp.c_fc", h + "mlp.c_proj"};
    }
    const bool is_bert = family == Family::bert;
    const std::string l = "encoder.layer." + number + ".";
    const std::string self = l + (is_bert ? "attention.self." : "attention.attention.");
    return {l + (is_bert ? "attention.output.LayerNorm" : "layernorm_before"),
            l + (is_bert ? "output.LayerNorm" : "layernorm_after"),
            self + "query",
            self + "key",
            self + "value",
            l + "attention.output.dense",
            l + "intermediate.dense",
            l + "output.dense"};
  }
};

namespace {

/// The residual is added by the product itself.
constexpr ops::Epilogue kResidual = {ops::Activation::none, ops::Accumulate::yes};

ops::Epilogue gelu_of(const ModelConfig& config) {
  return {config.gelu == Gelu::erf ? ops::Activation::gelu_erf : ops::Activation::gelu_tanh,
          ops::Accumulate::no};
}

HasBias qkv_bias(const ModelConfig& config) {
  return config.qkv_bias ? HasBias::yes : HasBias::no;
}

ops::Linear make_query(const ModelConfig& config, const std::string& name, WeightReader& reader) {
  const Index hidden = config.hidden;
  if (config.family == Family::gpt2)
    return reader.conv1d(name, hidden, 3 * hidden, {0, hidden}, {});
  return reader.linear(name, std::array{hidden, hidden}, {}, qkv_bias(config));
}

ops::Linear make_kv(const ModelConfig& config, const std::string& key, const std::string& value,
                    WeightReader& reader) {
  const Index hidden = config.hidden;
  if (config.family == Family::gpt2)
    return reader.conv1d(key, hidden, 3 * hidden, {hidden, 2 * hidden}, {});
  return reader.stacked(std::array{key, value}, hidden, hidden, qkv_bias(config));
}

ops::Linear make_dense(const ModelConfig& config, const std::string& name, Index outputs,
                       Index inputs, ops::Epilogue epilogue, WeightReader& reader) {
  if (config.family == Family::gpt2)
    return reader.conv1d(name, inputs, outputs, {0, outputs}, epilogue);
  return reader.linear(name, std::array{outputs, inputs}, epilogue);
}

/// to += from, and bias where there is one.   from, to [n, cols]   bias [cols] or empty
void add_rows(MatrixView<const float> from, std::span<const float> bias, MatrixView<float> to) {
#pragma omp parallel for schedule(static)
  for (Index r = 0; r < to.rows(); ++r) {
    const float* in = from.row(r).data();
    float* out = to.row(r).data();
    if (bias.empty()) {
#pragma omp simd
      for (Index c = 0; c < to.cols(); ++c) out[c] += in[c];
    } else {
#pragma omp simd
      for (Index c = 0; c < to.cols(); ++c) out[c] += in[c] + bias[static_cast<std::size_t>(c)];
    }
  }
}

/// The epilogue of `product`, whose parts were computed elsewhere and summed: bias and residual,
/// counted as the product itself would.
void add_sum(MatrixView<const float> sum, const ops::Linear& product, MatrixView<float> to,
             Operations& counted) {
  TW_REQUIRE(sum.rows() == to.rows() && sum.cols() == to.cols() && to.cols() == product.outputs(),
             "a sum of [{}, {}] for [{}, {}]", sum.rows(), sum.cols(), to.rows(), to.cols());
  add_rows(sum, product.bias(), to);
  if (!product.bias().empty()) counted.bias_elements += to.size();
  counted.residual_elements += to.size();
}

}  // namespace

Block::Block(const ModelConfig& config, Index layer, WeightSource& source, WeightPlace place)
    : Block(config, Names::of(config.family, layer), WeightReader(source, place)) {}

Block::Block(const ModelConfig& config, const Names& names, WeightReader reader)
    : order_(config.norm_order()),
      norm1_(reader.layer_norm(names.norm1, config.hidden, config.layer_norm_epsilon)),
      norm2_(reader.layer_norm(names.norm2, config.hidden, config.layer_norm_epsilon)),
      query_(make_query(config, names.query, reader)),
      kv_(make_kv(config, names.key, names.value, reader)),
      output_(make_dense(config, names.output, config.hidden, config.hidden, kResidual, reader)),
      up_(make_dense(config, names.up, config.ffn, config.hidden, gelu_of(config), reader)),
      down_(make_dense(config, names.down, config.hidden, config.ffn, kResidual, reader)) {}

MatrixView<const float> Block::kv_input(MatrixView<const float> x, MatrixView<float> scratch,
                                        Operations& counted) const {
  if (order_ == NormOrder::post) return x;
  norm1_(x, scratch, counted);
  return scratch;
}

void Block::project_query(MatrixView<const float> rows, MatrixView<float> query,
                          Operations& counted) const {
  query_(rows, query, counted);
}

void Block::project_kv(MatrixView<const float> rows, MatrixView<float> kv,
                       Operations& counted) const {
  kv_(rows, kv, counted);
}

void Block::attention_residual(MatrixView<const float> attended, MatrixView<float> x,
                               Operations& counted) const {
  output_(attended, x, counted);
  if (order_ == NormOrder::post) norm1_(x, x, counted);
}

void Block::attention_output(MatrixView<const float> attended, MatrixView<float> output,
                             Operations& counted) const {
  // The product adds to its output, so that one packed matrix serves both ways.
  for (Index r = 0; r < output.rows(); ++r) std::ranges::fill(output.row(r), 0.0F);
  output_(attended, output, counted);
}

void Block::residual(MatrixView<const float> output, MatrixView<float> x,
                     Operations& counted) const {
  add_rows(output, {}, x);
  if (order_ == NormOrder::post) norm1_(x, x, counted);
}

MatrixView<const float> Block::feed_forward_input(MatrixView<const float> z,
                                                  MatrixView<float> scratch,
                                                  Operations& counted) const {
  if (order_ == NormOrder::post) return z;
  norm2_(z, scratch, counted);
  return scratch;
}

void Block::finish(MatrixView<float> z, MatrixView<float> normed, MatrixView<float> ffn,
                   Operations& counted) const {
  up_(feed_forward_input(z, normed, counted), ffn, counted);
  down_(ffn, z, counted);
  if (order_ == NormOrder::post) norm2_(z, z, counted);
}

void Block::add_attention(MatrixView<const float> sum, MatrixView<float> x,
                          Operations& counted) const {
  add_sum(sum, output_, x, counted);
  if (order_ == NormOrder::post) norm1_(x, x, counted);
}

void Block::add_feed_forward(MatrixView<const float> sum, MatrixView<float> z,
                             Operations& counted) const {
  add_sum(sum, down_, z, counted);
  if (order_ == NormOrder::post) norm2_(z, z, counted);
}

}  // namespace thinwire::model
