#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>

namespace thinwire::harness {

/// A file that is open for reading and writing, with an advisory lock on one of three bytes far
/// behind its end, so that the locks exclude nobody but each other. They belong to this object, not
/// to the process (so threads exclude each other as well), end with it, however the process ends,
/// and work where the file system knows byte-range locks, NFS included.
class LockedFile {
 public:
  enum class Part : std::int64_t { sweep, writer, append };

  /// Opens, or makes, the file and asks for the lock until `patience` is over.
  /// Throws Error when the file cannot be opened or the file system has no locks.
  LockedFile(const std::filesystem::path& file, Part part, std::chrono::milliseconds patience);
  LockedFile(const LockedFile&) = delete;
  ~LockedFile();

  bool is_locked() const { return is_locked_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  bool is_locked_ = false;
};

}  // namespace thinwire::harness
