#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "parallel_chunks.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/model/weight_source.hpp"

namespace thinwire::model {
namespace {

constexpr float kDeviation = 0.02F;  // initializer_range of all four families

bool is_norm(std::string_view name) {
  return name.find("LayerNorm.") != name.npos || name.find("layernorm") != name.npos ||
         name.find("ln_") != name.npos;
}

/// A tensor's elements depend on its name and the seed alone, whoever makes them.
void fill_random(const std::string& name, std::uint64_t seed, std::span<float> out) {
  const RandomStream stream(name, seed);
  parallel_chunks(std::ssize(out), [&](Index first, Index count) {
    stream.fill_symmetric(
        out.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), kDeviation,
        static_cast<std::uint64_t>(first));
  });
}

/// Everything that the function computed by random weights depends on.
std::string describe(const ModelConfig& c) {
  return fmt::format(
      "family {} positions {} hidden {} layers {} heads {} ffn {} vocabulary {} types {} labels {} "
      "image {} channels {} patch {} frames {} {} epsilon {} gelu {} head {} bias {}",
      static_cast<int>(c.family), c.max_tokens, c.hidden, c.layers, c.heads, c.ffn, c.vocabulary,
      c.token_types, c.labels, c.image_size, c.channels, c.patch, c.frames, c.tubelet_frames,
      c.layer_norm_epsilon, static_cast<int>(c.gelu), static_cast<int>(c.head), c.qkv_bias);
}

class RandomWeights final : public WeightSource {
 public:
  RandomWeights(const ModelConfig& config, std::uint64_t seed)
      : seed_(seed),
        fingerprint_(to_hex(fnv1a(fmt::format("random {} {}", seed, describe(config))))) {}

  std::span<const float> values(const std::string& name, std::span<const Index> shape,
                                std::vector<float>& scratch) override {
    std::size_t elements = 1;
    for (const Index extent : shape) elements *= static_cast<std::size_t>(extent);
    if (scratch.size() < elements) scratch.resize(elements);
    const std::span<float> out = std::span(scratch).first(elements);
    if (name.ends_with(".bias"))
      std::ranges::fill(out, 0.0F);
    else if (is_norm(name))
      std::ranges::fill(out, 1.0F);
    else
      fill_random(name, seed_, out);
    return out;
  }

  std::string fingerprint() const override { return fingerprint_; }

 private:
  std::uint64_t seed_;
  std::string fingerprint_;
};

}  // namespace

std::unique_ptr<WeightSource> random_weights(const ModelConfig& config, std::uint64_t seed) {
  return std::make_unique<RandomWeights>(config, seed);
}

}  // namespace thinwire::model
