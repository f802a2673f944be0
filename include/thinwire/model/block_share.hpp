#pragma once
#include <memory_resource>

#include "thinwire/base/partition.hpp"
#include "thinwire/model/block.hpp"

namespace thinwire::model {

/// One device's part of a block under tensor parallelism (METHODS 4): some heads of the attention,
/// some columns of the feed-forward layer, packed anew. What it gives are partial sums, without the
/// biases of the two output products.
class BlockShare {
 public:
  /// heads, ffn_columns: what this device has of config.heads and config.ffn.
  BlockShare(const Block& block, const ModelConfig& config, Slice heads, Slice ffn_columns,
             std::pmr::memory_resource* memory);

  /// Width of the device's heads.
  Index width() const;
  Index ffn_columns() const;

  /// rows [n, hidden] -> query [n, width]
  void project_query(MatrixView<const float> rows, MatrixView<float> query,
                     Operations& counted) const;
  /// rows [n, hidden] -> kv [n, 2 * width], K in the left half
  void project_kv(MatrixView<const float> rows, MatrixView<float> kv, Operations& counted) const;
  /// attended [n, width] -> partial [n, hidden]
  void attention_output(MatrixView<const float> attended, MatrixView<float> partial,
                        Operations& counted) const;
  /// rows [n, hidden] -> partial [n, hidden]   ffn [n, ffn_columns] scratch
  void feed_forward(MatrixView<const float> rows, MatrixView<float> ffn, MatrixView<float> partial,
                    Operations& counted) const;

 private:
  ops::Linear query_, kv_, output_, up_, down_;
};

}  // namespace thinwire::model
