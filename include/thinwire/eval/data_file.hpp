#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "thinwire/eval/sample.hpp"

namespace thinwire::eval {

class DataForm;

/// A data file as one model reads it: a JPEG or PNG, or a safetensors file in one of the forms of
/// docs/data-files.md, mapped once. Any number of threads may load from it.
class DataFile {
 public:
  /// Chooses the form and checks the tensors' types and shapes; no values are read.
  ///   window, part   of bytes that are cut in windows, as for load_sample
  /// Throws InputError naming file and tensor, and what would be right.
  DataFile(const std::filesystem::path& file, const model::ModelConfig& config,
           const Preprocessing& preprocessing, Index window = 0, BytesPart part = BytesPart::valid);
  DataFile(DataFile&&) noexcept;
  ~DataFile();

  Index samples() const;
  /// Throws InputError for an index outside 0 .. samples() - 1 and for values that do not fit the
  /// model.
  Sample load(Index index) const;
  /// N of each sequence of a sample, without reading ids or pixels.
  std::vector<Index> tokens_of(Index index) const;
  /// 16 hex digits over names, types, shapes and values of all tensors (metadata may change), or
  /// over a picture's bytes. Reads the whole file.
  std::string fingerprint() const;

 private:
  std::unique_ptr<const DataForm> form_;
};

}  // namespace thinwire::eval
