#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/tensor/half.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::test {

/// A tensor of any element type; what the library's own writer does not write.
struct RawTensor {
  std::string type;
  std::vector<Index> shape;
  std::vector<std::byte> bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

template <class T>
RawTensor raw_tensor(std::string type, std::vector<Index> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {std::move(type), std::move(shape), {bytes.begin(), bytes.end()}};
}

inline RawTensors read_raw(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  RawTensors tensors;
  for (const auto& [name, tensor] : file.tensors())
    tensors[name] = {tensor.type_name, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}};
  return tensors;
}

/// `shift` bytes of padding move the data off the 8-byte grid.
inline void write_raw(const std::filesystem::path& path, const RawTensors& tensors,
                      std::size_t shift = 0) {
  Json header = Json::object();
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.type},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8 + shift, ' ');
  const std::uint64_t length = text.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << text;
  for (const auto& [name, tensor] : tensors)
    out.write(reinterpret_cast<const char*>(tensor.bytes.data()),
              static_cast<std::streamsize>(tensor.bytes.size()));
}

/// An F32 tensor narrowed to F16 or BF16.
inline RawTensor narrowed(const RawTensor& from, const std::string& type) {
  std::vector<float> wide(from.bytes.size() / sizeof(float));
  std::memcpy(wide.data(), from.bytes.data(), from.bytes.size());
  std::vector<std::uint16_t> narrow;
  for (const float value : wide)
    narrow.push_back(type == "F16" ? float_to_half(value) : float_to_bfloat16(value));
  return raw_tensor(type, from.shape, narrow);
}

}  // namespace thinwire::test
