#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/harness/result_file.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// A point that has an id.
struct NamedPoint {
  RunSpec spec;
  std::string id;
};

/// Gives every point of a sweep one record, whichever thread or rank learns how it ended.
class SweepJournal {
 public:
  /// `since`: bytes of the file when the sweep began.
  SweepJournal(std::filesystem::path file, std::int64_t since)
      : file_(std::move(file)), since_(since) {}

  /// These run from now on, in one execution.
  void begin(std::vector<NamedPoint> points);
  /// Appends the root's records of them, unless `file` is null. What the disk does not take goes to
  /// standard output, so that what was measured is not lost, and an Error says so.
  void finish(std::span<const Json> records, ResultFile* file);
  /// Any rank's, on any thread: records the points as failed unless they are recorded already. Does
  /// not throw: the job ends anyway.
  void fail(const std::string& reason) noexcept;

 private:
  std::filesystem::path file_;
  std::int64_t since_;
  std::mutex mutex_;
  std::vector<NamedPoint> open_;  // run and have no record
};

}  // namespace thinwire::harness
