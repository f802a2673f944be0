#include "fabric/throttled_fabric.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {

using std::chrono::steady_clock;

bool ThrottledFabric::knows_skew() const {
  return options_.links.front().topology != Topology::shared;
}

void ThrottledFabric::carry(Job& job) {
  const Link& link = options_.links.front();
  if (link.topology == Topology::shared)
    send_on_shared_medium(job);
  else
    reserve(job, job.published);
  tell(*job.slot);
  job.met = steady_clock::now();
  move_bytes(*job.slot);
  const bool is_empty = std::ranges::all_of(job.slot->sizes, [](auto size) { return size == 0; });
  if (!is_empty)
    pause_until(job.send_end + std::chrono::duration_cast<steady_clock::duration>(
                                   std::chrono::duration<double>(link.latency.value_s())));
  transport_of(*job.slot).meet();  // what has not left everywhere has not arrived anywhere
  job.done = steady_clock::now();
}

/// In naps: a device that an exception ends does not wait for a slow link.
void ThrottledFabric::pause_until(Time deadline) const {
  constexpr std::chrono::milliseconds kNap{100};
  while (deadline - steady_clock::now() > 2 * kNap) {
    if (is_stopping()) throw Error("this device stops");
    std::this_thread::sleep_for(kNap);
  }
  sleep_until(deadline);
}

/// Plans this rank's sending: one transmission heard by all, or message after message.
void ThrottledFabric::reserve(Job& job, Time ready) {
  const Slot& slot = *job.slot;
  const std::int64_t bytes = std::ssize(slot.payload.bytes);
  const bool is_broadcast = options_.links.front().topology == Topology::broadcast;
  job.send_start = job.send_end = ready;
  switch (slot.kind) {
    case Kind::all_gather:
      if (is_broadcast && devices() > 1) reserve(job, device(), bytes);
      for (int round = 1; round < devices() && !is_broadcast; ++round)
        reserve(job, (device() + round) % devices(), bytes);
      break;
    case Kind::gather:
      if (slot.root != device()) reserve(job, slot.root, bytes);
      break;
    case Kind::send_receive:
      if (slot.to >= 0) reserve(job, slot.to, bytes);
      break;
    case Kind::scatter:
      for (std::size_t p = 0; p < slot.scattered.size(); ++p)
        reserve(job, static_cast<int>(p), std::ssize(slot.scattered[p].bytes));
      break;
  }
}

void ThrottledFabric::reserve(Job& job, int to, std::int64_t bytes) {
  if (bytes == 0) return;
  const Link& link = options_.links.front();
  const Pacer::Span span = reserve(link, to, link.bytes_on_link(bytes), job.send_end);
  if (job.send_start == job.send_end) job.send_start = span.start;  // the first one
  job.send_end = span.end;
}

Pacer::Span ThrottledFabric::reserve(const Link& link, int to, std::int64_t bytes, Time ready) {
  if (!link.trace) {
    const Rate rate = to == device() ? std::ranges::min(link.rates) : link.between(device(), to);
    return pacer_.reserve(bytes, rate, ready);
  }
  const double offset_s = link.trace->iteration_start_s(iteration());
  const auto offset =
      std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(offset_s));
  return pacer_.reserve(bytes, *link.trace, iteration_start() - offset, ready);
}

/// Who sends first cannot be planned: the node's turn stands for the medium, held while sending.
void ThrottledFabric::send_on_shared_medium(Job& job) {
  struct Medium {
    explicit Medium(Turn& taken) : turn(taken) { turn.acquire(); }
    Medium(const Medium&) = delete;
    ~Medium() { turn.release(); }
    Turn& turn;
  };
  const Medium medium(all_.turn());
  reserve(job, steady_clock::now());
  pause_until(job.send_end);
}

}  // namespace thinwire::fabric
