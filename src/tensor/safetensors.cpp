#include "thinwire/tensor/safetensors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/tensor/half.hpp"

namespace thinwire {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

struct SafetensorsFile::Mapping {
  explicit Mapping(const std::filesystem::path& file);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(const_cast<std::byte*>(bytes.data()), bytes.size()); }

  std::span<const std::byte> bytes;
};

namespace {

constexpr std::size_t kLengthField = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the format's own library
constexpr std::string_view kMetadataKey = "__metadata__";

struct ElementTypeEntry {
  std::string_view name;
  ElementType type;
  Index size;  ///< bytes an element
};
constexpr std::array<ElementTypeEntry, 15> kElementTypes = {{{"F32", ElementType::f32, 4},
                                                             {"F16", ElementType::f16, 2},
                                                             {"BF16", ElementType::bf16, 2},
                                                             {"I32", ElementType::i32, 4},
                                                             {"I64", ElementType::i64, 8},
                                                             {"U8", ElementType::u8, 1},
                                                             {"F64", ElementType::other, 8},
                                                             {"BOOL", ElementType::other, 1},
                                                             {"I8", ElementType::other, 1},
                                                             {"I16", ElementType::other, 2},
                                                             {"U16", ElementType::other, 2},
                                                             {"U32", ElementType::other, 4},
                                                             {"U64", ElementType::other, 8},
                                                             {"F8_E4M3", ElementType::other, 1},
                                                             {"F8_E5M2", ElementType::other, 1}}};

/// Size 0 for a type that this table does not know: its byte size cannot be checked.
ElementTypeEntry find_element_type(std::string_view name) {
  for (const ElementTypeEntry& entry : kElementTypes)
    if (entry.name == name) return entry;
  return {name, ElementType::other, 0};
}

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::filesystem::path& file)
      : value_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    require_input(value_ >= 0, "cannot read {}: {}", file.string(), std::strerror(errno));
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { close(value_); }
  int value() const { return value_; }

 private:
  int value_;
};

/// Reads one file's header; every refusal names the file.
class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& file, std::span<const std::byte> bytes)
      : file_(file.string()), bytes_(bytes) {}

  /// The header's entries; data() is valid afterwards.
  Json read() {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_.data(), kLengthField);
    const std::uint64_t room = bytes_.size() - kLengthField;
    check(length <= kMaxHeader, "a header of {} bytes (at most {})", length, kMaxHeader);
    check(length <= room, "truncated, {} bytes after the length field of a header of {}", room,
          length);
    data_ = bytes_.subspan(kLengthField + length);
    const char* const text = reinterpret_cast<const char*>(bytes_.data()) + kLengthField;
    Json header = parse({text, length});
    check(header.is_object(), "the header is not a JSON object");
    return header;
  }

  TensorView read_tensor(const std::string& name, const Json& entry) const {
    check(entry.is_object() && entry.contains("dtype") && entry.contains("shape") &&
              entry.contains("data_offsets"),
          "tensor {} lacks dtype, shape or data_offsets", name);
    check(entry["dtype"].is_string(), "tensor {}: dtype is not a string", name);
    const auto type_name = entry["dtype"].get<std::string>();
    const ElementTypeEntry type = find_element_type(type_name);
    TensorView tensor{type.type, type_name, read_shape(name, entry["shape"]),
                      read_bytes(name, entry["data_offsets"])};
    Index expected = 0;
    check(!__builtin_mul_overflow(tensor.elements(), type.size, &expected),
          "tensor {}: the shape [{}] is too large", name, fmt::join(tensor.shape, ", "));
    check(type.size == 0 || expected == std::ssize(tensor.bytes),
          "tensor {}: {} of [{}] takes {} bytes, its data_offsets span {}", name, type_name,
          fmt::join(tensor.shape, ", "), expected, tensor.bytes.size());
    return tensor;
  }

  std::map<std::string, std::string, std::less<>> read_metadata(const Json& entry) const {
    check(entry.is_object(), "{} is not a JSON object", kMetadataKey);
    std::map<std::string, std::string, std::less<>> metadata;
    for (const auto& [key, value] : entry.items()) {
      check(value.is_string(), "{}: the value of {} is not a string", kMetadataKey, key);
      metadata.emplace(key, value.get<std::string>());
    }
    return metadata;
  }

  void check_no_overlap(const std::map<std::string, TensorView, std::less<>>& tensors) const {
    std::vector<std::pair<const std::byte*, const std::string*>> starts;
    for (const auto& [name, tensor] : tensors)
      if (!tensor.bytes.empty()) starts.emplace_back(tensor.bytes.data(), &name);
    std::ranges::sort(starts);
    for (std::size_t i = 1; i < starts.size(); ++i) {
      const auto& before = tensors.find(*starts[i - 1].second)->second.bytes;
      check(before.data() + before.size() <= starts[i].first, "tensors {} and {} overlap",
            *starts[i - 1].second, *starts[i].second);
    }
  }

 private:
  template <class... Args>
  void check(bool condition, fmt::format_string<Args...> text, Args&&... args) const {
    if (condition) return;
    throw InputError(fmt::format("{} is not a valid safetensors file: {}", file_,
                                 fmt::format(text, std::forward<Args>(args)...)));
  }

  Json parse(std::string_view text) const {
    std::set<std::string> names;
    const auto refuse_repeated = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth == 1 && event == Json::parse_event_t::key)
        check(names.insert(value.get<std::string>()).second, "tensor {} appears twice",
              value.get<std::string>());
      return true;
    };
    try {
      return Json::parse(text, refuse_repeated);
    } catch (const Json::exception&) {
      check(false, "the header is not JSON");
    }
    return {};
  }

  std::vector<Index> read_shape(const std::string& name, const Json& entry) const {
    check(entry.is_array(), "tensor {}: shape is not a list", name);
    std::vector<Index> shape;
    Index elements = 1;
    for (const Json& value : entry) {
      check(is_index(value), "tensor {}: {} in its shape is not a size", name, value.dump());
      shape.push_back(value.get<Index>());
      check(!__builtin_mul_overflow(elements, shape.back(), &elements),
            "tensor {}: the shape [{}] is too large", name, fmt::join(shape, ", "));
    }
    return shape;
  }

  std::span<const std::byte> read_bytes(const std::string& name, const Json& entry) const {
    check(entry.is_array() && entry.size() == 2 && is_index(entry[0]) && is_index(entry[1]),
          "tensor {}: data_offsets {} are not two offsets", name, entry.dump());
    const auto begin = entry[0].get<std::size_t>(), end = entry[1].get<std::size_t>();
    check(begin <= end, "tensor {}: data_offsets {} run backwards", name, entry.dump());
    check(end <= data_.size(), "tensor {} ends at byte {} of {} (truncated?)", name, end,
          data_.size());
    return data_.subspan(begin, end - begin);
  }

  static bool is_index(const Json& value) {
    return value.is_number_unsigned() &&
           value.get<std::uint64_t>() <=
               static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
  }

  std::string file_;
  std::span<const std::byte> bytes_, data_;
};

template <class T>
T load(const std::byte* from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));  // a file's bytes need not be aligned
  return value;
}

}  // namespace

bool is_floating_point(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

SafetensorsFile::Mapping::Mapping(const std::filesystem::path& file) {
  const FileDescriptor descriptor(file);
  struct stat status {};
  require_input(fstat(descriptor.value(), &status) == 0, "cannot read {}: {}", file.string(),
                std::strerror(errno));
  require_input(S_ISREG(status.st_mode), "cannot read {}: not a regular file", file.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  require_input(size >= kLengthField,
                "{} is not a valid safetensors file: {} bytes, the length field alone takes {}",
                file.string(), size, kLengthField);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.value(), 0);
  require_input(data != MAP_FAILED, "cannot map {}: {}", file.string(), std::strerror(errno));
  bytes = {static_cast<const std::byte*>(data), size};
}

Index TensorView::elements() const {
  Index product = 1;
  for (const Index size : shape) product *= size;
  return product;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : path_(file), mapping_(std::make_unique<Mapping>(file)) {
  HeaderReader reader(file, mapping_->bytes);
  const Json header = reader.read();
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey)
      metadata_ = reader.read_metadata(entry);
    else
      tensors_.emplace(name, reader.read_tensor(name, entry));
  }
  reader.check_no_overlap(tensors_);
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

const TensorView& SafetensorsFile::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& entry : tensors_) names.push_back(entry.first);
  throw InputError(
      fmt::format("{} has no tensor {}{}", path_.string(), name, suggestion(name, names)));
}

std::vector<float> SafetensorsFile::floats(std::string_view name) const {
  const TensorView& tensor = at(name);
  require_input(is_floating_point(tensor.type),
                "{}: tensor {} has the type {}, F32, F16 or BF16 is needed", path_.string(), name,
                tensor.type_name);
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  widen(tensor, 0, values);
  return values;
}

std::vector<std::int32_t> SafetensorsFile::integers(std::string_view name) const {
  const TensorView& tensor = at(name);
  require_input(tensor.type == ElementType::i32 || tensor.type == ElementType::i64 ||
                    tensor.type == ElementType::u8,
                "{}: tensor {} has the type {}, I32, I64 or U8 is needed", path_.string(), name,
                tensor.type_name);
  const std::byte* const from = tensor.bytes.data();
  std::vector<std::int32_t> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.type == ElementType::u8) {
      values[i] = load<std::uint8_t>(from, i);
    } else if (tensor.type == ElementType::i32) {
      values[i] = load<std::int32_t>(from, i);
    } else if (tensor.type == ElementType::i64) {
      const auto wide = load<std::int64_t>(from, i);
      values[i] = static_cast<std::int32_t>(wide);
      require_input(values[i] == wide, "{}: element {} of tensor {} is {}, beyond 32 bits",
                    path_.string(), i, name, wide);
    }
  }
  return values;
}

void widen(const TensorView& tensor, Index first, std::span<float> out) {
  TW_REQUIRE(first >= 0 && first <= tensor.elements() - std::ssize(out),
             "elements {}..{} of a tensor with {}", first, first + std::ssize(out),
             tensor.elements());
  require_input(is_floating_point(tensor.type),
                "a tensor has the type {}, F32, F16 or BF16 is needed", tensor.type_name);
  if (out.empty()) return;
  const std::size_t width = tensor.type == ElementType::f32 ? 4 : 2;
  const auto from =
      tensor.bytes.subspan(static_cast<std::size_t>(first) * width, out.size() * width);
  if (tensor.type == ElementType::f32) {
    std::memcpy(out.data(), from.data(), from.size());
  } else if (tensor.type == ElementType::f16) {
    halves_to_floats(from, out);
  } else {
    bfloat16s_to_floats(from, out);
  }
}

}  // namespace thinwire
