#pragma once
#include <filesystem>
#include <memory>

namespace thinwire::harness {

class LockedFile;

/// The right to write a result file: one command has it at a time, until this goes out of scope or
/// its process ends, however it ends. What is no file (a pipe, "-") needs none.
class ResultClaim {
 public:
  enum class Holder {
    alone,       ///< the process that runs the points
    supervisor,  ///< starts, one after the other, the jobs that run them
    job,         ///< started by a supervisor; waits for one that was killed to be gone
  };
  /// Makes an empty file where there is none, and cuts off the record that a killed run left
  /// unfinished.
  /// Throws InputError when another command writes the file, or when it cannot be written.
  ResultClaim(const std::filesystem::path& file, Holder holder);
  ~ResultClaim();

  /// Whether records can be read back from what was claimed.
  bool is_file() const { return sweep_ != nullptr || writer_ != nullptr; }

 private:
  std::unique_ptr<LockedFile> sweep_, writer_;
};

}  // namespace thinwire::harness
