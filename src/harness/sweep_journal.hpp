#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "thinwire/base/json.hpp"
#include "thinwire/harness/result_file.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// Gives every point of a sweep one record, whichever thread or rank learns how it ended.
class SweepJournal {
 public:
  /// `since`: bytes of the file when the sweep began.
  SweepJournal(std::filesystem::path file, std::int64_t since)
      : file_(std::move(file)), since_(since) {}

  /// The point with this id runs from now on.
  void begin(RunSpec spec, std::string id);
  /// Appends the root's record of it, unless `file` is null. When the disk does not take it, it goes to standard output,
  /// so that what was measured is not lost, and an Error says so.
  void finish(const Json& record, ResultFile* file);
  /// Any rank's, on any thread: records the point as failed unless it is recorded already. Does not
  /// throw: the job ends anyway.
  void fail(const std::string& reason) noexcept;

 private:
  std::filesystem::path file_;
  std::int64_t since_;
  std::mutex mutex_;
  bool is_open_ = false;  // a point runs and has no record
  RunSpec spec_;
  std::string id_;
};

}  // namespace thinwire::harness
