#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace thinwire::fabric {

/// What one rank is about to do, since when. Lives in zero-filled memory shared by the processes of
/// a node and is valid there without construction; one process writes a row, all read it.
class ProgressRow {
 public:
  /// A rank takes part from its first report() until leave().
  ///   name  of the phase; its first 23 characters are kept
  void report(std::string_view name, int layer);
  void leave() { since_ns_.store(0); }
  /// Whose row it is: world rank and process.
  void sign(int rank, int process);

  bool takes_part() const { return since_ns_.load() != 0; }
  /// Steady clock of the node; 0 when it takes no part.
  std::int64_t since_ns() const { return since_ns_.load(std::memory_order_acquire); }
  int rank() const { return rank_; }
  int process() const { return process_; }
  std::string name() const;
  int layer() const { return layer_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> since_ns_;
  std::atomic<std::int32_t> layer_, rank_, process_;
  std::array<std::atomic<std::uint64_t>, 3> name_;  // characters
};

/// Of a node: one row a rank. A look at it tells a rank that waits from the one it waits for.
struct ProgressBoard {
  std::span<ProgressRow> rows;
  ProgressRow* mine = nullptr;

  /// The latest report of any rank.
  std::int64_t latest_ns() const;
  /// The rank that holds up the others, for people: "rank 2 in 'attention' of layer 3". One whose
  /// process is stopped, else one that does not wait for others, else the one that is silent the
  /// longest.
  std::string culprit() const;
};

std::int64_t steady_now_ns();

}  // namespace thinwire::fabric
