#include "sweep_journal.hpp"

#include <cstdio>
#include <exception>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/harness/sweep_plan.hpp"

namespace thinwire::harness {

void SweepJournal::begin(RunSpec spec, std::string id) {
  const std::lock_guard lock(mutex_);
  spec_ = std::move(spec);
  id_ = std::move(id);
  is_open_ = true;
}

void SweepJournal::finish(const Json& record, ResultFile* file) {
  const std::lock_guard lock(mutex_);
  if (!is_open_) return;  // failed meanwhile, and the job is about to end
  is_open_ = false;
  if (file == nullptr) return;
  try {
    file->append(record);
  } catch (const Error& error) {
    fmt::print("{}\n", record.dump());
    std::fflush(stdout);
    throw Error(fmt::format("{}; the record is on standard output instead", error.what()));
  }
}

void SweepJournal::fail(const std::string& reason) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_open_, false)) return;
    append_unless_there(file_, failed_record(spec_, id_, reason), since_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thinwire: a failed point could not be recorded: %s\n", error.what());
  }
}

}  // namespace thinwire::harness
