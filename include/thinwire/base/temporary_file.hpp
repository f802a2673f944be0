#pragma once
#include <cstddef>
#include <filesystem>
#include <fstream>

namespace thinwire {

/// A temporary file beside its destination, so that the destination is written whole or not at all:
/// removed unless it was moved there. All functions throw InputError that names the destination.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& destination);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  void append(const void* data, std::size_t size);
  void move_to_destination();

 private:
  void check(bool is_good) const;

  std::filesystem::path destination_, path_;
  std::ofstream stream_;
};

}  // namespace thinwire
