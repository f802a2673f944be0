#pragma once
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "link_shim/collective_times.hpp"
#include "link_shim/shadow.hpp"

namespace thinwire::link_shim {

class Shim;

/// Something under way of which the link says when the program may see it done.
class Operation {
 public:
  virtual ~Operation() = default;
  /// To be asked once MPI itself has done it, with its status; the same answer every time.
  virtual double leave_s(const MPI_Status& status) = 0;
};

/// A message that was sent: done when its last bit has left.
class SentMessage : public Operation {
 public:
  SentMessage(Shim& shim, Shadow& shadow, std::int64_t bytes, int to, int tag);
  double leave_s(const MPI_Status&) override { return end_s_; }

 private:
  double end_s_;
};

/// A message that is to come: done when it has arrived.
class ReceivedMessage : public Operation {
 public:
  ReceivedMessage(Shim& shim, std::shared_ptr<Shadow> shadow)
      : shim_(shim), shadow_(std::move(shadow)) {}
  double leave_s(const MPI_Status& status) override;

 private:
  Shim& shim_;
  std::shared_ptr<Shadow> shadow_;
  std::optional<double> leave_s_;
};

/// What a member of a collective says to the others, and what they make of it.
struct Plan {
  std::vector<std::int64_t> bytes;  ///< as many numbers on every member
  /// Names the collective; `all` has the members' numbers one after the other.
  std::function<void(CollectiveTimes& times, std::span<const std::int64_t> all)> run;
};

/// A collective: done when all that this member receives has arrived and all that it sends has
/// left. Construction is a nonblocking collective over the shadow.
class Collective : public Operation {
 public:
  Collective(Shim& shim, std::shared_ptr<Shadow> shadow, Plan plan);
  Collective(const Collective&) = delete;
  ~Collective() override;
  double leave_s(const MPI_Status&) override;

 private:
  void compute();

  Shim& shim_;
  std::shared_ptr<Shadow> shadow_;
  Plan plan_;
  Entry before_;
  std::vector<double> mine_, all_;  // an Entry and the plan's bytes, of this member and of all
  MPI_Request meeting_ = MPI_REQUEST_NULL;
  std::optional<double> leave_s_;
};

}  // namespace thinwire::link_shim
