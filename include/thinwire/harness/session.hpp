#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thinwire/fabric/progress_board.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/record.hpp"

namespace thinwire::harness {

struct Shared;

/// Runs points one after the other on the ranks of one launch, and keeps what they share (MPI, the
/// packed model, the codebooks).
class Session {
 public:
  /// True when this process was started by mpirun or srun.
  static bool is_launched();

  /// Initialises MPI when launched; otherwise one process alone, for points of one device.
  Session(int& argc, char**& argv);
  Session(const Session&) = delete;
  ~Session();

  /// Rank 0 gets the records; the others take part.
  bool is_root() const;
  int ranks() const;

  /// Warm-up and measured iterations, counts compared with the prediction, answer, outputs and
  /// timeline, of one point or of several that one execution serves (shared_execution.hpp).
  /// Collective over all ranks; those beyond the point's devices and terminal sleep.
  /// Returns a result a point on the root, none on the others.
  /// Throws InputError when there are fewer ranks than these.
  ///   on_progress  told the part that is done, 0 to 1, after every iteration
  std::vector<Result> run(std::span<const Point> points,
                          const std::function<void(double)>& on_progress);

  /// Every rank gets what the root gives; the others' argument is ignored.
  std::string share(const std::string& text_of_root);

  /// What `point` runs with, held once a node. Collective over all ranks.
  const model::Model& model_for(const Point& point);
  Shared shared_for(const Point& point);
  /// Fills what records say about that, and where this launch runs.
  void describe(Result& result, const Point& point, const Shared& shared) const;
  /// What this node's ranks report to their watchdogs; null where there is one rank alone.
  const fabric::ProgressBoard* board() const;
  /// Joins all ranks of this launch.
  fabric::Transport& everyone();
  /// Joins the first `count` ranks; null on the others. Collective over all ranks.
  std::unique_ptr<fabric::Transport> first_ranks(int count);
  /// Where and with what this launch runs, for records.
  Json environment() const;

  /// Ends all ranks with this message; for an exception on one of them, on any thread.
  [[noreturn]] void abort(const std::string& message, int status);
  /// The same for a watchdog's complaint.
  void end_stuck(const std::string& what);
  /// `tell` hears the reason, with this rank's name, before this rank ends all: by abort(), or
  /// because the watchdog found it stuck (and then on its thread).
  void on_abort(std::function<void(const std::string& reason)> tell);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thinwire::harness
