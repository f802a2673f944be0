#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/model/model_config.hpp"

namespace thinwire::model {

/// Where a model's tensors come from, by canonical Hugging Face name without prefix
/// ("encoder.layer.0.attention.attention.query.weight", "h.3.attn.c_attn.weight").
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// Whether there is a tensor that a model can do without (an LM head that is not tied).
  virtual bool has(const std::string& /*name*/) const { return false; }
  /// fp32 values of a tensor of the given shape, in the checkpoint's layout. The span borrows from
  /// the source (an fp32 file is not copied) or from `scratch`, which is resized as needed.
  /// Throws InputError that names a missing or misshapen tensor with both shapes.
  virtual std::span<const float> values(const std::string& name, std::span<const Index> shape,
                                        std::vector<float>& scratch) = 0;
  /// Throws InputError that names a tensor of the file that nobody asked for, a known list excepted
  /// (*.attn.bias, *.masked_bias, position_ids, cls.*, an unused pooler).
  virtual void require_all_used() const {}
  /// Identifies the weights: a hash of names, shapes and contents of the file; of name and seed
  /// for random weights.
  virtual std::string fingerprint() const = 0;
};

/// Seeded random weights: LayerNorm weights 1, biases 0, the rest uniform with deviation 0.02,
/// keyed by tensor name and seed.
std::unique_ptr<WeightSource> random_weights(const ModelConfig& config, std::uint64_t seed);

/// A Hugging Face folder: config.json and model.safetensors (fp32, fp16 or bf16; names with or
/// without the "vit.", "bert.", "transformer.", "vivit." prefix).
struct Checkpoint {
  ModelConfig config;
  std::unique_ptr<WeightSource> weights;
};
Checkpoint open_checkpoint(const std::filesystem::path& folder);

}  // namespace thinwire::model
