#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "parallel_chunks.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/model/weight_source.hpp"
#include "thinwire/tensor/content_hash.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::model {
namespace {

/// What Hugging Face puts before the names of the backbone when a head is on top.
std::string_view prefix_of(Family family) {
  switch (family) {
    case Family::vit:
      return "vit.";
    case Family::bert:
      return "bert.";
    case Family::gpt2:
      return "transformer.";
    case Family::vivit:
      return "vivit.";
  }
  TW_REQUIRE(false, "unknown model family {}", static_cast<int>(family));
}

std::string canonical_name(std::string_view name, Family family) {
  const std::string_view prefix = prefix_of(family);
  std::string canonical(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
  // LayerNorm in checkpoints converted from TensorFlow, bert-base-uncased among them.
  const auto replace_ending = [&](std::string_view from, std::string_view to) {
    if (canonical.ends_with(from))
      canonical.replace(canonical.size() - from.size(), from.size(), to);
  };
  replace_ending("LayerNorm.gamma", "LayerNorm.weight");
  replace_ending("LayerNorm.beta", "LayerNorm.bias");
  return canonical;
}

/// Tensors that published checkpoints carry and inference does not read.
bool may_be_unused(std::string_view canonical) {
  return canonical.ends_with(".attn.bias") || canonical.ends_with("masked_bias") ||
         canonical.ends_with("position_ids") || canonical.starts_with("cls.") ||
         canonical.starts_with("pooler.");
}

std::string shape_text(std::span<const Index> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Threads share the work of a half-precision file.
void widen_parallel(const TensorView& tensor, std::span<float> out) {
  parallel_chunks(std::ssize(out), [&](Index first, Index count) {
    widen(tensor, first,
          out.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  });
}

bool can_be_borrowed(const TensorView& tensor) {
  return tensor.type == ElementType::f32 &&
         reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(float) == 0;
}

class CheckpointWeights final : public WeightSource {
 public:
  CheckpointWeights(SafetensorsFile file, Family family) : file_(std::move(file)) {
    for (const auto& [name, tensor] : file_.tensors()) {
      const bool added = tensors_.emplace(canonical_name(name, family), &tensor).second;
      require_input(added, "{}: tensor {} is there twice, with and without a prefix",
                    file_.path().string(), canonical_name(name, family));
    }
  }

  bool has(const std::string& name) const override { return tensors_.contains(name); }

  std::span<const float> values(const std::string& name, std::span<const Index> shape,
                                std::vector<float>& scratch) override {
    const TensorView& tensor = find(name, shape);
    used_.insert(name);
    const auto elements = static_cast<std::size_t>(tensor.elements());
    if (can_be_borrowed(tensor))
      return {reinterpret_cast<const float*>(tensor.bytes.data()), elements};
    if (scratch.size() < elements) scratch.resize(elements);
    widen_parallel(tensor, std::span(scratch).first(elements));
    return std::span<const float>(scratch).first(elements);
  }

  void require_all_used() const override {
    for (const auto& [name, tensor] : tensors_)
      require_input(used_.contains(name) || may_be_unused(name),
                    "{}: tensor {} {} belongs to no part of the model that config.json describes",
                    file_.path().string(), name, shape_text(tensor->shape));
  }

  std::string fingerprint() const override {
    ContentHash hash;
    for (const auto& [name, tensor] : tensors_) {
      hash.add(name);
      hash.add(tensor->type_name + shape_text(tensor->shape));
      hash.add(tensor->bytes);
    }
    return to_hex(hash.value());
  }

 private:
  const TensorView& find(const std::string& name, std::span<const Index> shape) const {
    const auto entry = tensors_.find(name);
    require_input(entry != tensors_.end(), "{}: tensor {} {} is missing", file_.path().string(),
                  name, shape_text(shape));
    const TensorView& tensor = *entry->second;
    require_input(std::ranges::equal(tensor.shape, shape),
                  "{}: tensor {} has shape {}, but config.json asks for {}", file_.path().string(),
                  name, shape_text(tensor.shape), shape_text(shape));
    require_input(is_floating_point(tensor.type),
                  "{}: tensor {} is of type {} (F32, F16 or BF16 is needed)", file_.path().string(),
                  name, tensor.type_name);
    return tensor;
  }

  SafetensorsFile file_;
  std::map<std::string, const TensorView*, std::less<>> tensors_;  // by canonical name
  std::set<std::string, std::less<>> used_;
};

std::string base_name(const std::filesystem::path& folder) {
  const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

}  // namespace

Checkpoint open_checkpoint(const std::filesystem::path& folder) {
  require_input(std::filesystem::is_directory(folder),
                "model folder {} does not exist (a preset, {}, or a folder with config.json and "
                "model.safetensors is needed)",
                folder.string(), join(preset_names(), ", "));
  for (const char* file : {"config.json", "model.safetensors"})
    require_input(std::filesystem::exists(folder / file), "model folder {} has no {}",
                  folder.string(), file);

  const Json json = read_json(folder / "config.json");
  SafetensorsFile file(folder / "model.safetensors");
  ModelConfig config =
      config_from_hugging_face(json, base_name(folder), file.has("classifier.weight"));
  auto weights = std::make_unique<CheckpointWeights>(std::move(file), config.family);
  return {std::move(config), std::move(weights)};
}

}  // namespace thinwire::model
