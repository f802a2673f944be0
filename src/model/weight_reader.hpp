#pragma once
#include <span>
#include <string>
#include <vector>

#include "thinwire/base/partition.hpp"
#include "thinwire/model/embedding.hpp"
#include "thinwire/model/weight_source.hpp"
#include "thinwire/ops/layer_norm.hpp"
#include "thinwire/ops/linear.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::model {

enum class HasBias { no, yes };

/// Turns a source's tensors into operators at a place. Names come without their ".weight" and
/// ".bias". On a rank that attaches nothing is read: operators get shapes, and find the bytes that
/// the writing rank left at the same place.
class WeightReader {
 public:
  WeightReader(WeightSource& source, WeightPlace place) : source_(source), place_(place) {}

  WeightSource& source() { return source_; }
  bool attaches() const { return place_.packing == ops::Packing::attach; }

  /// The tensor `full_name` of the given shape as it is: a row for each last dimension.
  Matrix<float> table(const std::string& full_name, std::span<const Index> shape);
  ops::LayerNorm layer_norm(const std::string& name, Index cols, float epsilon);

  /// Weights stored [outputs, inputs...] (shape), with or without a bias.
  ops::Linear linear(const std::string& name, std::span<const Index> shape, ops::Epilogue epilogue,
                     HasBias bias = HasBias::yes);
  /// Several weights [outputs, inputs] stacked to one product, in the order of `names`.
  ops::Linear stacked(std::span<const std::string> names, Index outputs, Index inputs,
                      HasBias bias);
  /// GPT-2's Conv1D: columns `columns` of a weight stored [inputs, outputs], and of its bias.
  ops::Linear conv1d(const std::string& name, Index inputs, Index outputs, Slice columns,
                     ops::Epilogue epilogue);
  /// A product with a table that is there already, without a bias.
  ops::Linear tied(MatrixView<const float> table);

 private:
  ops::Linear make(MatrixView<const float> weight, std::span<const float> bias,
                   ops::Epilogue epilogue) const;

  WeightSource& source_;
  WeightPlace place_;
  std::vector<float> weight_scratch_, bias_scratch_;
};

}  // namespace thinwire::model
