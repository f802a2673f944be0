#include "fabric/throttled_fabric.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

using std::chrono::steady_clock;

double seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ThrottledFabric::ThrottledFabric(Transport& transport, FabricOptions options)
    : Fabric(transport, std::move(options)),
      bits_(options_.links.front(), devices()),
      no_times_(static_cast<std::size_t>(devices())),
      no_arrivals_(no_times_.size()) {}

ThrottledFabric::~ThrottledFabric() {
  bool is_stuck = false;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    is_stuck = is_carrying_;
    queue_.clear();
  }
  changed_.notify_all();
  // Left by an exception while the thread is in a meeting to which a peer may never come.
  if (is_stuck) abandon(transport_);
  if (thread_.joinable()) thread_.join();
}

void ThrottledFabric::on_begin() {
  bits_.reset();
  wait_s_ = hidden_s_ = skew_s_ = 0;
  iteration_start_ = steady_clock::now();
}

void ThrottledFabric::on_compute_start(Phase /*phase*/) {
  compute_start_ = steady_clock::now();
}

void ThrottledFabric::on_compute_end(Phase phase) {
  record(TimelineEvent::Kind::compute, phase.name, compute_start_, steady_clock::now());
}

void ThrottledFabric::on_start(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  if (index >= jobs_.size()) jobs_.resize(index + 1);
  Job& job = jobs_[index];
  job = {};
  job.slot = &slots_[index];
  job.published = job.ready = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(&job);
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread(&ThrottledFabric::communicate, this);
}

void ThrottledFabric::on_wait(int slot) {
  Job& job = jobs_[static_cast<std::size_t>(slot)];
  const Time waiting_since = steady_clock::now();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job.is_done; });
  }
  if (job.error) std::rethrow_exception(job.error);
  account(job, waiting_since, steady_clock::now());
}

void ThrottledFabric::account(const Job& job, Time waiting_since, Time waited_until) {
  wait_s_ += seconds(waited_until - waiting_since);
  hidden_s_ += std::max(0.0, seconds(std::min(waiting_since, job.done) - job.published));
  // The part of the wait before the last device published: it would remain on an unlimited link.
  // On a shared medium it cannot be told from the others' sending.
  if (options_.links.front().topology != Topology::shared)
    skew_s_ += std::max(0.0, seconds(std::min(job.met, waited_until) - waiting_since));
  if (job.slot->kind == Kind::all_gather)
    bits_.all_gather(no_times_, job.slot->sizes, no_arrivals_);
  else
    bits_.gather(job.slot->root, no_times_, job.slot->sizes, no_arrivals_);
  record(TimelineEvent::Kind::wait, "wait", waiting_since, waited_until);
  if (job.send_end > job.send_start)
    record(TimelineEvent::Kind::transfer, "send", job.send_start, job.send_end);
}

void ThrottledFabric::record(TimelineEvent::Kind kind, const char* name, Time start, Time end) {
  if (options_.record_timeline)
    timeline_.push_back({kind, name, layer(), 0, device(), seconds(start - iteration_start_),
                         seconds(end - start)});
}

void ThrottledFabric::on_end(DeviceIteration& result) {
  result.links.push_back({result.wall_s - wait_s_, wait_s_, hidden_s_, skew_s_});
  result.link_bits.push_back(bits_.link_bits());
}

void ThrottledFabric::communicate() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    if (is_stopping_) return;
    Job& job = *queue_.front();
    queue_.erase(queue_.begin());
    is_carrying_ = true;
    lock.unlock();
    try {
      carry(job);
    } catch (...) {
      job.error = std::current_exception();
    }
    lock.lock();
    is_carrying_ = false;
    job.is_done = true;
    changed_.notify_all();
  }
}

void ThrottledFabric::carry(Job& job) {
  const Link& link = options_.links.front();
  if (link.topology == Topology::shared)
    send_on_shared_medium(job);
  else
    reserve(job);
  transport_.meet();
  job.met = steady_clock::now();
  exchange_sizes(*job.slot);
  move_bytes(*job.slot);
  const bool is_empty = std::ranges::all_of(job.slot->sizes, [](auto size) { return size == 0; });
  if (!is_empty)
    sleep_until(job.send_end + std::chrono::duration_cast<steady_clock::duration>(
                                   std::chrono::duration<double>(link.latency.value_s())));
  transport_.meet();  // what has not left everywhere has not arrived anywhere
  job.done = steady_clock::now();
}

/// Plans the sending by topology: one transmission heard by all, or a copy a peer, one after the
/// other.
void ThrottledFabric::reserve(Job& job) {
  const Slot& slot = *job.slot;
  const std::int64_t bytes = std::ssize(slot.payload.bytes);
  job.send_start = job.send_end = job.ready;
  if (bytes == 0 || devices() == 1 || !slot.is_sent_by(device())) return;

  job.send_start = Time::max();
  if (slot.kind == Kind::gather) {
    reserve(job, slot.root, bytes);
  } else if (options_.links.front().topology == Topology::broadcast) {
    reserve(job, device(), bytes);
  } else {
    for (int round = 1; round < devices(); ++round)
      reserve(job, (device() + round) % devices(), bytes);
  }
}

void ThrottledFabric::reserve(Job& job, int to, std::int64_t bytes) {
  const Link& link = options_.links.front();
  const Rate rate = to == device() ? std::ranges::min(link.rates) : link.between(device(), to);
  const Pacer::Span span = pacer_.reserve(bytes, rate, job.send_end);
  job.send_start = std::min(job.send_start, span.start);
  job.send_end = span.end;
}

/// Who sends first cannot be planned: the node's turn stands for the medium, held while sending.
void ThrottledFabric::send_on_shared_medium(Job& job) {
  transport_.turn().acquire();
  job.ready = steady_clock::now();
  reserve(job);
  sleep_until(job.send_end);
  transport_.turn().release();
}

}  // namespace thinwire::fabric
