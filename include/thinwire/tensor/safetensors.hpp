#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire {

enum class ElementType { f32, f16, bf16, i32, i64, u8, other };
/// Whether widen() takes it.
bool is_floating_point(ElementType type);

/// One tensor of an open file: borrows the mapped bytes.
struct TensorView {
  ElementType type = ElementType::other;
  std::string type_name;  ///< as the file spells it, for messages
  std::vector<Index> shape;
  std::span<const std::byte> bytes;

  Index elements() const;  ///< product of the shape
};

/// A safetensors file, mapped read-only. The header is checked whole at opening: length, JSON,
/// offsets inside the file, non-overlapping, byte size = elements * element size.
class SafetensorsFile {
 public:
  /// Throws InputError naming the file and what is wrong (unreadable, truncated, bad header).
  explicit SafetensorsFile(const std::filesystem::path& file);
  SafetensorsFile(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  bool has(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }
  /// Throws InputError that names the tensor and the file when absent.
  const TensorView& at(std::string_view name) const;

  /// The tensor's values widened to fp32 (f32, f16, bf16), or as int32 (i32, i64 that fit, u8).
  /// Throw InputError for another element type.
  std::vector<float> floats(std::string_view name) const;
  std::vector<std::int32_t> integers(std::string_view name) const;

 private:
  struct Mapping;
  std::filesystem::path path_;
  std::unique_ptr<Mapping> mapping_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

/// Widens elements [first, first + out.size()) of a floating-point tensor (f32, f16, bf16).
void widen(const TensorView& tensor, Index first, std::span<float> out);

/// Collects named tensors, then writes them in one file (a temporary one, renamed when complete).
class SafetensorsWriter {
 public:
  void add(std::string name, std::vector<Index> shape, std::span<const float> values);
  void add(std::string name, std::vector<Index> shape, std::span<const std::int32_t> values);
  /// Half precision, given as bits.
  void add(std::string name, std::vector<Index> shape, std::span<const std::uint16_t> halves);
  /// Of any type, as the file spells it ("U16"); bytes are as a file holds them.
  void add_raw(std::string name, std::string type, std::vector<Index> shape,
               std::span<const std::byte> bytes);
  bool has(std::string_view name) const;
  void add_metadata(std::string key, std::string value);
  /// Throws InputError when the place cannot be written.
  void write(const std::filesystem::path& file) const;

 private:
  struct Entry {
    std::string name, type;
    std::vector<Index> shape;
    std::vector<std::byte> bytes;
  };
  void append(Entry entry);

  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace thinwire
