#pragma once
#include "thinwire/model/embedding.hpp"
#include "thinwire/ops/layer_norm.hpp"
#include "thinwire/ops/linear.hpp"

namespace thinwire::model {

class BlockShare;
class WeightReader;

/// One Transformer block as row-wise functions (METHODS 2); attention between them is
/// ops::Attention. Every function works on any number of rows.
class Block {
 public:
  Block(const ModelConfig& config, Index layer, WeightSource& source, WeightPlace place);

  /// The rows that Q, K and V are projected from: LN1(x), written to `scratch` (pre-norm), or x
  /// itself, and `scratch` is left alone (post-norm).   x, scratch [rows, hidden]
  MatrixView<const float> kv_input(MatrixView<const float> x, MatrixView<float> scratch,
                                   Operations& counted) const;
  /// rows [n, hidden] -> query [n, hidden]
  void project_query(MatrixView<const float> rows, MatrixView<float> query,
                     Operations& counted) const;
  /// rows [n, hidden] -> kv [n, 2 * hidden], K in the left half
  void project_kv(MatrixView<const float> rows, MatrixView<float> kv, Operations& counted) const;
  /// x becomes z: x + attended * W_O (pre-norm), LN1 of that (post-norm).
  ///   attended [n, hidden]   x [n, hidden], updated in place
  void attention_residual(MatrixView<const float> attended, MatrixView<float> x,
                          Operations& counted) const;
  /// The same in two steps, for who needs what lies between: output = attended * W_O, bias
  /// included, then residual(). Counts as attention_residual does.   output [n, hidden]
  void attention_output(MatrixView<const float> attended, MatrixView<float> output,
                        Operations& counted) const;
  /// x becomes z: x + output (pre-norm), LN1 of that (post-norm).   x [n, hidden], in place
  void residual(MatrixView<const float> output, MatrixView<float> x, Operations& counted) const;
  /// z becomes y, the block's output: z + MLP(LN2 z) (pre-norm), LN2(z + MLP(z)) (post-norm).
  ///   z [n, hidden], updated in place   normed [n, hidden] scratch   ffn [n, ffn] scratch
  void finish(MatrixView<float> z, MatrixView<float> normed, MatrixView<float> ffn,
              Operations& counted) const;

  /// What follows the sums over all devices' BlockShare (METHODS 4): biases once, residuals, norms.
  /// x becomes z: x + sum + the bias of W_O (pre-norm), LN1 of that (post-norm).
  ///   sum [n, hidden] of the shares' attention outputs   x [n, hidden], updated in place
  void add_attention(MatrixView<const float> sum, MatrixView<float> x, Operations& counted) const;
  /// The rows that the feed-forward layer reads: LN2(z), written to `scratch` (pre-norm), or z
  /// itself, and `scratch` is left alone (post-norm).   z, scratch [n, hidden]
  MatrixView<const float> feed_forward_input(MatrixView<const float> z, MatrixView<float> scratch,
                                             Operations& counted) const;
  /// z becomes y: z + sum + the bias of W_down (pre-norm), LN2 of that (post-norm).
  ///   sum [n, hidden] of the shares' feed-forward outputs   z [n, hidden], updated in place
  void add_feed_forward(MatrixView<const float> sum, MatrixView<float> z,
                        Operations& counted) const;

 private:
  friend class BlockShare;  // packs parts of the products anew
  struct Names;             // what the block's tensors are called in a family
  Block(const ModelConfig& config, const Names& names, WeightReader reader);

  NormOrder order_;
  ops::LayerNorm norm1_, norm2_;
  ops::Linear query_, kv_, output_, up_, down_;
};

}  // namespace thinwire::model
