#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "codebook_layout.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/compress/index_tables.hpp"
#include "thinwire/tensor/content_hash.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::compress {
namespace {

using Permutation = std::vector<std::int32_t>;

/// A file as the checks see it: every complaint begins with the option that named it.
class CheckedFile {
 public:
  explicit CheckedFile(const std::filesystem::path& path) : file_(open(path)) {}

  const SafetensorsFile& operator*() const { return file_; }
  const SafetensorsFile* operator->() const { return &file_; }

  template <class... Args>
  void require(bool condition, fmt::format_string<Args...> text, Args&&... args) const {
    if (condition) return;
    throw InputError(fmt::format("--codebook={}: {}", file_.path().string(),
                                 fmt::format(text, std::forward<Args>(args)...)));
  }

  const TensorView& find(const std::string& name) const {
    require(file_.has(name), "tensor {} is missing", name);
    return file_.at(name);
  }

  void require_shape(const std::string& name, std::initializer_list<Index> shape) const {
    const TensorView& tensor = find(name);
    require(std::ranges::equal(tensor.shape, shape),
            "tensor {} has shape [{}], but [{}] is needed for this model and the file's other "
            "tensors",
            name, fmt::join(tensor.shape, ", "), fmt::join(shape, ", "));
  }

 private:
  static SafetensorsFile open(const std::filesystem::path& path) {
    try {
      return SafetensorsFile(path);
    } catch (const InputError& error) {
      throw InputError(fmt::format("--codebook={}: {}", path.string(), error.what()));
    }
  }

  SafetensorsFile file_;
};

void require_model(const CheckedFile& file, const std::string& fingerprint) {
  const auto made_for = file->metadata().find(kModelFingerprintKey);
  if (fingerprint.empty() || made_for == file->metadata().end()) return;
  file.require(made_for->second.empty() || made_for->second == fingerprint,
               "made for the model with fingerprint {}, this one has {} (train one for it)",
               made_for->second, fingerprint);
}

/// "1, 3" for a file with astra.g1.* and astra.g3.*.
std::string groups_of(const SafetensorsFile& file) {
  constexpr std::string_view kPrefix = "astra.g";
  std::set<int> groups;
  for (const auto& [name, tensor] : file.tensors())
    if (name.starts_with(kPrefix)) groups.insert(std::atoi(name.c_str() + kPrefix.size()));
  return groups.empty() ? "none" : fmt::format("{}", fmt::join(groups, ", "));
}

/// K, from the first codebook of the use; the others are compared with it.
Index read_codewords(const CheckedFile& file, const model::ModelConfig& config,
                     const CodebookUse& use) {
  const Index first = use.codes(0) ? 0 : 1, width = group_width(config, use);
  file.require(first < config.layers, "{} has one block, whose only exchange is not coded",
               config.name);
  const std::string name = codebook_name(use, first, 0);
  if (use.published == Published::block_output)
    file.require(file->has(name), "no codebooks for groups={} (it has those for groups: {})",
                 use.groups, groups_of(*file));
  const TensorView& tensor = file.find(name);
  file.require(tensor.shape.size() == 2 && tensor.shape[1] == width,
               "tensor {} has shape [{}], but {} needs [codewords, {}]", name,
               fmt::join(tensor.shape, ", "), config.name, width);
  file.require(tensor.shape[0] >= 2 && tensor.shape[0] <= 65536,
               "tensor {} has {} codewords (2 to 65536 are possible)", name, tensor.shape[0]);
  return tensor.shape[0];
}

void require_codebooks(const CheckedFile& file, const model::ModelConfig& config,
                       const CodebookUse& use, Index codewords) {
  for (Index exchange = 0; exchange < config.layers; ++exchange) {
    if (!use.codes(exchange)) continue;
    for (Index group = 0; group < use.groups; ++group) {
      const std::string name = codebook_name(use, exchange, group);
      file.require_shape(name, {codewords, group_width(config, use)});
      file.require(is_floating_point(file->at(name).type),
                   "tensor {} is of type {} (F32, F16 or BF16 is needed)", name,
                   file->at(name).type_name);
    }
  }
}

bool has_hierarchy(const CheckedFile& file, const CodebookUse& use) {
  return use.published != Published::block_output && file->has(kLevelsName);
}

std::vector<Index> read_levels(const CheckedFile& file, const CodebookUse& use, Index codewords) {
  if (!has_hierarchy(file, use)) return {codewords};
  const std::vector<std::int32_t> sizes = file->integers(kLevelsName);
  const bool ascends = std::ranges::adjacent_find(sizes, std::greater_equal<>()) == sizes.end();
  file.require(!sizes.empty() && sizes.front() >= 2 && sizes.back() == codewords && ascends,
               "{} holds {} (sizes have to ascend from 2 or more to the {} codewords)", kLevelsName,
               fmt::join(sizes, ", "), codewords);
  return {sizes.begin(), sizes.end()};
}

Permutation read_permutation(const CheckedFile& file, const std::string& name, Index codewords) {
  file.require_shape(name, {codewords});
  Permutation permutation = file->integers(name);
  std::vector<bool> seen(permutation.size());
  for (const std::int32_t code : permutation) {
    file.require(code >= 0 && code < codewords, "tensor {} holds code {} (there are {})", name,
                 code, codewords);
    file.require(!seen[static_cast<std::size_t>(code)],
                 "tensor {} holds code {} twice (a permutation is needed)", name, code);
    seen[static_cast<std::size_t>(code)] = true;
  }
  return permutation;
}

/// One an exchange; empty where nothing is coded or codewords stand in their own order.
std::vector<Permutation> read_permutations(const CheckedFile& file,
                                           const model::ModelConfig& config, const CodebookUse& use,
                                           Index codewords) {
  std::vector<Permutation> permutations(static_cast<std::size_t>(config.layers));
  if (!has_hierarchy(file, use)) return permutations;
  for (Index exchange = 0; exchange < config.layers; ++exchange)
    if (use.codes(exchange))
      permutations[static_cast<std::size_t>(exchange)] =
          read_permutation(file, hierarchy_name(use, exchange), codewords);
  return permutations;
}

/// Buffers are optional, but come as pairs.
void require_buffers(const CheckedFile& file, const model::ModelConfig& config,
                     const CodebookUse& use, Index codewords) {
  for (Index exchange = 0; exchange < config.layers; ++exchange) {
    const std::string key = key_buffer_name(exchange), value = value_buffer_name(exchange);
    if (!use.codes(exchange) || (!file->has(key) && !file->has(value))) continue;
    for (const std::string& name : {key, value}) {
      file.require_shape(name, {codewords, config.hidden});
      file.require(file->at(name).type == ElementType::f16,
                   "tensor {} is of type {} (F16 is needed)", name, file->at(name).type_name);
    }
  }
}

class FileCodebooks final : public CodebookSource {
 public:
  FileCodebooks(CheckedFile file, const model::ModelConfig& config, const CodebookUse& use)
      : file_(std::move(file)),
        use_(use),
        codewords_(read_codewords(file_, config, use)),
        levels_(read_levels(file_, use, codewords_)),
        permutations_(read_permutations(file_, config, use, codewords_)) {
    require_codebooks(file_, config, use, codewords_);
    if (use.buffers == Buffers::kv) require_buffers(file_, config, use, codewords_);
  }

  Index codewords() const override { return codewords_; }
  std::vector<Index> levels() const override { return levels_; }

  Matrix<float> values(Index exchange, Index group) override {
    const std::string name = codebook_name(use_, exchange, group);
    const TensorView& tensor = file_.find(name);
    const Index width = tensor.shape[1];
    Matrix<float> values(codewords_, width, std::pmr::new_delete_resource(),
                         Matrix<float>::Fill::none);
    for (Index position = 0; position < codewords_; ++position)
      widen(tensor, row_at(exchange, position) * width, values.view().row(position));
    file_.require(std::ranges::all_of(std::as_const(values).view().elements(),
                                      [](float value) { return std::isfinite(value); }),
                  "tensor {} holds values that are not finite", name);
    return values;
  }

  Matrix<std::uint16_t> kv(Index exchange) override {
    if (use_.buffers != Buffers::kv || !file_->has(key_buffer_name(exchange))) return {};
    const TensorView& key = file_.find(key_buffer_name(exchange));
    const TensorView& value = file_.find(value_buffer_name(exchange));
    const Index width = key.shape[1];
    const auto row_bytes = static_cast<std::size_t>(width) * sizeof(std::uint16_t);
    Matrix<std::uint16_t> kv(codewords_, 2 * width);
    for (Index position = 0; position < codewords_; ++position) {
      const auto first = static_cast<std::size_t>(row_at(exchange, position)) * row_bytes;
      const auto row = std::as_writable_bytes(kv.view().row(position));
      std::ranges::copy(key.bytes.subspan(first, row_bytes), row.begin());
      std::ranges::copy(value.bytes.subspan(first, row_bytes), row.subspan(row_bytes).begin());
    }
    return kv;
  }

  bool has_index_tables() const override {
    const Index first = use_.codes(0) ? 0 : 1;
    return file_->has(index_tables_name(use_, first, 0, 0));
  }

  std::vector<std::uint16_t> index_tables(Index exchange, Index group, int level) override {
    const std::string name = index_tables_name(use_, exchange, group, level);
    const TensorView& tensor = file_.find(name);
    file_.require(tensor.type_name == "U16" && tensor.shape.size() == 1,
                  "tensor {} is of type {} and shape [{}] (a run of U16 is needed)", name,
                  tensor.type_name, fmt::join(tensor.shape, ", "));
    std::vector<std::uint16_t> words(tensor.bytes.size() / sizeof(std::uint16_t));
    std::ranges::copy(tensor.bytes, std::as_writable_bytes(std::span(words)).begin());
    try {
      IndexTables(words, levels_[static_cast<std::size_t>(level)], codewords_,
                  {std::pmr::new_delete_resource()});
    } catch (const Error& error) {
      file_.require(false, "tensor {}: {}", name, error.what());
    }
    return words;
  }

  std::string fingerprint() const override { return hash_tensors(WithIndexTables::no); }
  std::string fingerprint_with_tables() const override {
    return hash_tensors(WithIndexTables::yes);
  }

 private:
  std::string hash_tensors(WithIndexTables tables) const {
    ContentHash hash;
    for (const auto& [name, tensor] : file_->tensors()) {
      if (tables == WithIndexTables::no && is_index_tables_name(name)) continue;
      hash.add(name);
      hash.add(fmt::format("{}[{}]", tensor.type_name, fmt::join(tensor.shape, ", ")));
      hash.add(tensor.bytes);
    }
    return to_hex(hash.value());
  }

  /// The row of the file that `position` stands for.
  Index row_at(Index exchange, Index position) const {
    const Permutation& permutation = permutations_[static_cast<std::size_t>(exchange)];
    return permutation.empty() ? position : permutation[static_cast<std::size_t>(position)];
  }

  CheckedFile file_;
  CodebookUse use_;
  Index codewords_;
  std::vector<Index> levels_;
  std::vector<Permutation> permutations_;  // [layers]
};

}  // namespace

std::unique_ptr<CodebookSource> open_codebooks(const std::filesystem::path& file,
                                               const model::ModelConfig& config,
                                               const CodebookUse& use,
                                               const std::string& model_fingerprint) {
  CheckedFile checked(file);
  require_model(checked, model_fingerprint);
  return std::make_unique<FileCodebooks>(std::move(checked), config, use);
}

}  // namespace thinwire::compress
