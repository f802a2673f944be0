#include "link_shim/operation.hpp"

#include <cstddef>
#include <utility>

#include "link_shim/shim.hpp"

namespace thinwire::link_shim {
namespace {

constexpr std::size_t kEntryDoubles = sizeof(Entry) / sizeof(double);

}  // namespace

SentMessage::SentMessage(Shim& shim, Shadow& shadow, std::int64_t bytes, int to, int tag) {
  const Stamp stamp = shim.reserve(shadow.node(to), bytes);
  shadow.send_stamp(stamp, to, tag);
  end_s_ = stamp.end_s();
}

double ReceivedMessage::leave_s(const MPI_Status& status) {
  if (!leave_s_) {
    int is_cancelled = 0;
    PMPI_Test_cancelled(&status, &is_cancelled);
    // Nothing crosses the link from a rank to itself, or from MPI_PROC_NULL.
    const bool is_from_peer = status.MPI_SOURCE >= 0 && status.MPI_SOURCE != shadow_->rank();
    leave_s_ =
        is_from_peer && is_cancelled == 0 ? shim_.arrival_s(shadow_->receive_stamp(status)) : 0;
  }
  return *leave_s_;
}

Collective::Collective(Shim& shim, std::shared_ptr<Shadow> shadow, Plan plan)
    : shim_(shim), shadow_(std::move(shadow)), plan_(std::move(plan)), before_(shim.enter()) {
  mine_ = {before_.ready_s, before_.transmitter_free_s, before_.port_free_s, before_.medium_free_s};
  // Exact: bytes are whole numbers below 2^53.
  mine_.insert(mine_.end(), plan_.bytes.begin(), plan_.bytes.end());
  all_.resize(mine_.size() * static_cast<std::size_t>(shadow_->size()));
  const auto count = static_cast<int>(mine_.size());
  PMPI_Iallgather(mine_.data(), count, MPI_DOUBLE, all_.data(), count, MPI_DOUBLE,
                  shadow_->handle(), &meeting_);
}

Collective::~Collective() {
  PMPI_Wait(&meeting_, MPI_STATUS_IGNORE);
}

double Collective::leave_s(const MPI_Status&) {
  if (!leave_s_) {
    PMPI_Wait(&meeting_, MPI_STATUS_IGNORE);
    compute();
  }
  return *leave_s_;
}

void Collective::compute() {
  std::vector<Entry> entries;
  std::vector<std::int64_t> bytes;
  for (auto next = all_.begin(); next != all_.end(); next += std::ssize(mine_)) {
    entries.push_back({next[0], next[1], next[2], next[3]});
    for (auto number = next + kEntryDoubles; number != next + std::ssize(mine_); ++number)
      bytes.push_back(static_cast<std::int64_t>(*number));
  }
  CollectiveTimes times(shadow_->link(), entries);
  plan_.run(times, bytes);
  const Entry after = times.after(shadow_->rank());
  leave_s_ = after.ready_s;
  // Every member knows all bits: one of them counts.
  shim_.leave(before_, after, shadow_->rank() == 0 ? times.link_bits() : 0);
}

}  // namespace thinwire::link_shim
