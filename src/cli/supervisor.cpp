#include "supervisor.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <string>

#include "child_process.hpp"
#include "failure.hpp"
#include "launcher.hpp"
#include "thinwire/harness/result_claim.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::cli {
namespace {

using harness::PlannedPoint;
using harness::ResultFile;

constexpr const char* kSince = "THINWIRE_SWEEP_SINCE";

/// The signal that a status of mpirun or a shell stands for, or 0.
int signal_of(int status) {
  const int signal = status - 128;
  return signal > 0 && signal < NSIG ? signal : 0;
}

/// "rank 2 was killed by signal 9 (Killed)": mpirun says which one it was.
std::string death_of(const ChildEnd& end) {
  static const std::regex notice(R"(process rank\s+(\d+)\s+with)");
  std::smatch match;
  const bool is_named = std::regex_search(end.stderr_tail, match, notice);
  const int signal = signal_of(end.status);
  return fmt::format("{} was killed by signal {} ({})",
                     is_named ? "rank " + match[1].str() : std::string("the process"), signal,
                     strsignal(signal));
}

class Supervisor {
 public:
  Supervisor(const Arguments& arguments, const SweepPoints& sweep,
             const std::vector<PlannedPoint>& plan, harness::Selection selection, int ranks)
      : sweep_(sweep),
        plan_(plan),
        selection_(selection),
        claim_(sweep.json, harness::ResultClaim::Holder::supervisor),
        since_(harness::end_of_records(sweep.json)),
        ranks_(ranks),
        command_(job_command(arguments, ranks_, kSince)) {
    setenv(kSince, std::to_string(since_).c_str(), 1);
  }

  int run() {
    std::vector<PlannedPoint> pending = pending_points();
    const std::size_t chosen = pending.size();
    int status = 0;
    while (!pending.empty()) {
      const int failed_before = counts().failed;
      const ChildEnd end = run_child(command_, ranks_ > 1);
      harness::cut_off_partial_record(sweep_.json);
      if (end.stopped_by != 0) return report_stop(end.stopped_by, chosen);
      pending = pending_points();
      if (end.status == 0) break;
      if (counts().failed == failed_before) {
        // It ended with no point: wrong input, no place for records, no ranks. Or with a rank.
        if (signal_of(end.status) == 0 || pending.empty()) {
          status = end.status;
          break;
        }
        for (const PlannedPoint& point : harness::next_execution(pending))
          record_death(point, death_of(end));
        pending = pending_points();
      }
      if (!pending.empty())
        fmt::print(stderr, "thinwire: a point failed; going on with the {} of {} that are left\n",
                   pending.size(), chosen);
    }
    print_counts(counts(chosen));
    return status != 0 ? status : counts().failed > 0 ? kFailed : 0;
  }

 private:
  std::vector<PlannedPoint> pending_points() const {
    return harness::pending_points(plan_, ResultFile(sweep_.json), selection_, since_);
  }
  harness::SweepCounts counts() const {
    return harness::counts_since(plan_, ResultFile(sweep_.json), since_);
  }
  harness::SweepCounts counts(std::size_t chosen) const {
    harness::SweepCounts all = counts();
    all.already_there = static_cast<int>(plan_.size() - chosen);
    return all;
  }

  /// Points run in order, and an execution's have records before the next begins.
  void record_death(const PlannedPoint& point, const std::string& reason) const {
    const harness::RunSpec& spec = sweep_.points[point.index];
    harness::append_unless_there(sweep_.json, harness::failed_record(spec, point.id, reason),
                                 since_);
    fmt::print(stderr, "thinwire: {}: {}\n", harness::label_of(spec), reason);
  }

  int report_stop(int signal, std::size_t chosen) const {
    fmt::print(stderr,
               "thinwire: stopped by SIG{}; {} of {} points are not run yet, and {} holds the "
               "others: the same command goes on behind them\n",
               sigabbrev_np(signal), pending_points().size(), chosen, sweep_.json);
    return 128 + signal;
  }

  const SweepPoints& sweep_;
  const std::vector<PlannedPoint>& plan_;
  harness::Selection selection_;
  harness::ResultClaim claim_;
  std::int64_t since_;
  int ranks_;
  std::vector<std::string> command_;
};

}  // namespace

std::optional<std::int64_t> supervised_since() {
  const char* const text = std::getenv(kSince);
  return text == nullptr ? std::nullopt : std::optional<std::int64_t>(std::atoll(text));
}

int supervise(const Arguments& arguments, const SweepPoints& sweep,
              const std::vector<PlannedPoint>& plan, harness::Selection selection, int ranks) {
  return Supervisor(arguments, sweep, plan, selection, ranks).run();
}

}  // namespace thinwire::cli
