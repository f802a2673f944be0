#pragma once
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "link_shim/endpoint.hpp"
#include "link_shim/requests.hpp"
#include "link_shim/settings.hpp"
#include "link_shim/shadow.hpp"

namespace thinwire::link_shim {

/// Seconds of CLOCK_MONOTONIC, which the ranks of a host share.
double now_s();

/// All that the intercepted calls of this process have in common. MPI's own interface has no place
/// to hand it through, so that active() finds it; there is one between MPI_Init and MPI_Finalize.
class Shim {
 public:
  /// Reads the environment, checks it against the ranks and takes MPI_COMM_WORLD over: collective,
  /// right after MPI_Init. On wrong settings: a line on stderr, then MPI_Abort with status 2.
  static void begin();
  /// Collective, right before MPI_Finalize: reports where that is asked for.
  static void end();
  /// Null when nothing is to be shaped.
  static Shim* active();

  explicit Shim(Settings settings);
  Shim(const Shim&) = delete;
  ~Shim();

  /// Shapes `communicator` from now on, where it has several ranks, all of MPI_COMM_WORLD.
  /// Collective over it.
  void adopt(MPI_Comm communicator);
  /// Null for what passes unshaped.
  std::shared_ptr<Shadow> shadow_of(MPI_Comm communicator) const;

  Stamp reserve(int to, std::int64_t bytes);
  double arrival_s(const Stamp& stamp);
  Entry enter();
  void leave(const Entry& before, const Entry& after, std::int64_t link_bits);

  Requests& requests() { return requests_; }
  /// Lets the time pass until `time_s`; MPI goes on with what is under way meanwhile.
  void wait_until(double time_s);
  /// A short sleep between two looks at requests.
  void pause();
  /// Says on stderr, once, that calls of this name pass unshaped.
  void note_unshaped(const char* call);

 private:
  static std::unique_ptr<Shim>& instance();
  void let_mpi_progress();
  void report() const;

  Settings settings_;
  int keyval_ = MPI_KEYVAL_INVALID;  ///< the attribute that leads from a communicator to its shadow
  MPI_Comm progress_ = MPI_COMM_NULL;
  MPI_Win medium_window_ = MPI_WIN_NULL;
  std::unique_ptr<Endpoint> endpoint_;
  Requests requests_;

  std::mutex mutex_;  // of the endpoint, the counters and the names
  std::int64_t messages_ = 0, collectives_ = 0, link_bits_ = 0;
  double waited_s_ = 0;
  std::set<std::string> unshaped_;
};

}  // namespace thinwire::link_shim
