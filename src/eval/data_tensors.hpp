#pragma once
#include <string>
#include <vector>

#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::eval {

/// "[3, 4]"
std::string shape_text(const TensorView& tensor);

/// The tensors of a data file, checked as they are asked for: every refusal names file and tensor.
class DataTensors {
 public:
  explicit DataTensors(SafetensorsFile file) : file_(std::move(file)) {}

  std::string path() const { return file_.path().string(); }
  bool has(std::string_view name) const { return file_.has(name); }
  const TensorView& at(std::string_view name) const { return file_.at(name); }

  const TensorView& tensor(const char* name, ElementType type, const char* type_name,
                           std::size_t rank) const;
  /// I32 or I64.
  const TensorView& integers(const char* name, std::size_t rank) const;
  /// integers() of shape [count]; `counted` says of what in the message: "4 rows of input_ids".
  const TensorView& integer_list(const char* name, Index count, std::string_view counted) const;

  /// Elements [first, first + count) of an integer tensor, without reading the rest.
  /// Throws InputError for a value that 32 bits do not hold.
  std::vector<std::int32_t> read_integers(const char* name, Index first, Index count) const;
  std::int32_t integer(const char* name, Index at) const {
    return read_integers(name, at, 1).front();
  }
  /// Row `row` of an integer tensor that must be [rows, cols], as input_ids is.
  std::vector<std::int32_t> row(const char* name, Index row, Index rows, Index cols) const;
  std::vector<float> floats(const char* name) const { return file_.floats(name); }

  /// Names, types, shapes and values of all tensors.
  std::string fingerprint() const;

 private:
  SafetensorsFile file_;
};

}  // namespace thinwire::eval
