#include "sweep_journal.hpp"

#include <cstdio>
#include <exception>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/harness/sweep_plan.hpp"

namespace thinwire::harness {

void SweepJournal::begin(std::vector<NamedPoint> points) {
  const std::lock_guard lock(mutex_);
  open_ = std::move(points);
}

void SweepJournal::finish(std::span<const Json> records, ResultFile* file) {
  const std::lock_guard lock(mutex_);
  if (open_.empty()) return;  // failed meanwhile, and the job is about to end
  open_.clear();
  if (file == nullptr) return;
  for (std::size_t i = 0; i < records.size(); ++i) {
    try {
      file->append(records[i]);
    } catch (const Error& error) {
      for (const Json& lost : records.subspan(i)) fmt::print("{}\n", lost.dump());
      std::fflush(stdout);
      throw Error(fmt::format("{}; the record is on standard output instead", error.what()));
    }
  }
}

void SweepJournal::fail(const std::string& reason) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    for (const NamedPoint& point : std::exchange(open_, {}))
      append_unless_there(file_, failed_record(point.spec, point.id, reason), since_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thinwire: a failed point could not be recorded: %s\n", error.what());
  }
}

}  // namespace thinwire::harness
