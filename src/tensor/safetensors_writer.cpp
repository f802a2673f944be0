#include <cstdint>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/temporary_file.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire {
namespace {

template <class T>
std::vector<std::byte> checked_bytes(const std::string& name, const std::vector<Index>& shape,
                                     std::span<const T> values) {
  Index elements = 1;
  for (const Index size : shape) elements *= size;
  TW_REQUIRE(elements == std::ssize(values), "tensor {} of [{}] with {} values", name,
             fmt::join(shape, ", "), values.size());
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void SafetensorsWriter::add(std::string name, std::vector<Index> shape,
                            std::span<const float> values) {
  auto bytes = checked_bytes(name, shape, values);
  append({std::move(name), "F32", std::move(shape), std::move(bytes)});
}

void SafetensorsWriter::add(std::string name, std::vector<Index> shape,
                            std::span<const std::int32_t> values) {
  auto bytes = checked_bytes(name, shape, values);
  append({std::move(name), "I32", std::move(shape), std::move(bytes)});
}

void SafetensorsWriter::add(std::string name, std::vector<Index> shape,
                            std::span<const std::uint16_t> halves) {
  auto bytes = checked_bytes(name, shape, halves);
  append({std::move(name), "F16", std::move(shape), std::move(bytes)});
}

void SafetensorsWriter::add_raw(std::string name, std::string type, std::vector<Index> shape,
                                std::span<const std::byte> bytes) {
  append({std::move(name), std::move(type), std::move(shape), {bytes.begin(), bytes.end()}});
}

void SafetensorsWriter::append(Entry entry) {
  TW_REQUIRE(entry.name != "__metadata__", "a tensor cannot be called __metadata__");
  TW_REQUIRE(!has(entry.name), "tensor {} added twice", entry.name);
  entries_.push_back(std::move(entry));
}

bool SafetensorsWriter::has(std::string_view name) const {
  return std::ranges::find(entries_, name, &Entry::name) != entries_.end();
}

void SafetensorsWriter::add_metadata(std::string key, std::string value) {
  metadata_.insert_or_assign(std::move(key), std::move(value));
}

void SafetensorsWriter::write(const std::filesystem::path& file) const {
  Json header = Json::object();
  if (!metadata_.empty()) header["__metadata__"] = metadata_;
  std::size_t offset = 0;
  for (const Entry& entry : entries_) {
    const std::size_t end = offset + entry.bytes.size();
    header[entry.name] = {
        {"dtype", entry.type}, {"shape", entry.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // readers may map the data: keep it aligned

  TemporaryFile temporary(file);
  const std::uint64_t length = text.size();
  temporary.append(&length, sizeof length);
  temporary.append(text.data(), text.size());
  for (const Entry& entry : entries_) temporary.append(entry.bytes.data(), entry.bytes.size());
  temporary.move_to_destination();
}

}  // namespace thinwire
