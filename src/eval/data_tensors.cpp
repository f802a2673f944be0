#include "data_tensors.hpp"

#include <cstring>
#include <limits>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/tensor/content_hash.hpp"

namespace thinwire::eval {

std::string shape_text(const TensorView& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

const TensorView& DataTensors::tensor(const char* name, ElementType type, const char* type_name,
                                      std::size_t rank) const {
  const TensorView& found = file_.at(name);
  require_input(found.type == type && found.shape.size() == rank,
                "{}: {} is {} {} ({} with {} dimensions is needed)", path(), name, found.type_name,
                shape_text(found), type_name, rank);
  return found;
}

const TensorView& DataTensors::integers(const char* name, std::size_t rank) const {
  const TensorView& found = file_.at(name);
  require_input((found.type == ElementType::i32 || found.type == ElementType::i64) &&
                    found.shape.size() == rank,
                "{}: {} is {} {} (I32 with {} dimensions is needed)", path(), name, found.type_name,
                shape_text(found), rank);
  return found;
}

const TensorView& DataTensors::integer_list(const char* name, Index count,
                                            std::string_view counted) const {
  const TensorView& found = integers(name, 1);
  require_input(found.shape[0] == count, "{}: {} is {} for {} {}", path(), name, shape_text(found),
                count, counted);
  return found;
}

std::vector<std::int32_t> DataTensors::read_integers(const char* name, Index first,
                                                     Index count) const {
  const TensorView& tensor = file_.at(name);
  const auto at = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
  std::vector<std::int32_t> values(size);
  if (size == 0) return values;
  if (tensor.type == ElementType::i32) {
    std::memcpy(values.data(), tensor.bytes.data() + at * sizeof(std::int32_t),
                size * sizeof(std::int32_t));
    return values;
  }
  std::vector<std::int64_t> wide(size);
  std::memcpy(wide.data(), tensor.bytes.data() + at * sizeof(std::int64_t),
              size * sizeof(std::int64_t));
  for (std::size_t i = 0; i < size; ++i) {
    require_input(wide[i] >= std::numeric_limits<std::int32_t>::min() &&
                      wide[i] <= std::numeric_limits<std::int32_t>::max(),
                  "{}: {} has {}, which 32 bits do not hold", path(), name, wide[i]);
    values[i] = static_cast<std::int32_t>(wide[i]);
  }
  return values;
}

std::vector<std::int32_t> DataTensors::row(const char* name, Index row, Index rows,
                                           Index cols) const {
  const TensorView& found = integers(name, 2);
  require_input(found.shape[0] == rows && found.shape[1] == cols,
                "{}: {} is {}, but input_ids is [{}, {}]", path(), name, shape_text(found), rows,
                cols);
  return read_integers(name, row * cols, cols);
}

std::string DataTensors::fingerprint() const {
  ContentHash hash;
  for (const auto& [name, tensor] : file_.tensors()) {
    hash.add(name);
    hash.add(tensor.type_name + shape_text(tensor));
    hash.add(tensor.bytes);
  }
  return to_hex(hash.value());
}

}  // namespace thinwire::eval
