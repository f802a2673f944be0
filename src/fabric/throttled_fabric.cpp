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

ThrottledFabric::ThrottledFabric(Transport& all, Transport* devices, FabricOptions options)
    : Fabric(all, devices, std::move(options)),
      bits_(options_.links.front(), this->devices(), has_terminal()),
      no_times_(static_cast<std::size_t>(all.size())),
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
  if (is_stuck) abandon_all();
  if (thread_.joinable()) thread_.join();
}

void ThrottledFabric::on_begin() {
  bits_.reset();
  compute_s_ = wait_s_ = hidden_s_ = skew_s_ = 0;
  milestone_s_.fill(LinkTimes::kNever);
  iteration_start_ = steady_clock::now();
}

void ThrottledFabric::on_compute_start(Phase /*phase*/) {
  compute_start_ = steady_clock::now();
}

void ThrottledFabric::on_compute_end(Phase phase) {
  const Time now = steady_clock::now();
  compute_s_ += seconds(now - compute_start_);
  record(TimelineEvent::Kind::compute, phase.name, compute_start_, now);
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
  record(TimelineEvent::Kind::wait, "wait", waiting_since, waited_until);
  if (job.send_end > job.send_start)
    record(TimelineEvent::Kind::transfer, "send", job.send_start, job.send_end);
}

void ThrottledFabric::record(TimelineEvent::Kind kind, const char* name, Time start, Time end) {
  if (options_.record_timeline)
    timeline_.push_back({kind, name, layer(), 0, device(), seconds(start - iteration_start_),
                         seconds(end - start)});
}

void ThrottledFabric::on_mark(Milestone milestone) {
  milestone_s_[static_cast<std::size_t>(milestone)] =
      seconds(steady_clock::now() - iteration_start_);
}

void ThrottledFabric::on_end(DeviceIteration& result) {
  result.links.push_back({result.wall_s - wait_s_, wait_s_, hidden_s_, skew_s_, milestone_s_});
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
  Transport& transport = transport_of(*job.slot);
  transport.meet();
  job.met = steady_clock::now();
  tell(*job.slot);
  move_bytes(*job.slot);
  const bool is_empty = std::ranges::all_of(job.slot->sizes, [](auto size) { return size == 0; });
  if (!is_empty)
    pause_until(job.send_end + std::chrono::duration_cast<steady_clock::duration>(
                                   std::chrono::duration<double>(link.latency.value_s())));
  transport.meet();  // what has not left everywhere has not arrived anywhere
  job.done = steady_clock::now();
}

/// Sizes and receivers; towards the terminal, which was away, also what the link has carried.
void ThrottledFabric::tell(Slot& slot) {
  begin_stamp(slot);
  if (includes_terminal(slot)) bits_.save_state(stamps_.add(bits_.state_size()));
  exchange_stamps(slot);
  if (includes_terminal(slot)) bits_.load_state(added_stamp(0));
  const auto ready_s = std::span(no_times_).first(slot.sizes.size());
  const auto arrival_s = std::span(no_arrivals_).first(slot.sizes.size());
  if (slot.kind == Kind::all_gather)
    bits_.all_gather(ready_s, slot.sizes, arrival_s);
  else
    bits_.send(ready_s, slot.messages, arrival_s);
}

/// In naps: a device that an exception ends does not wait for a slow link.
void ThrottledFabric::pause_until(Time deadline) const {
  constexpr std::chrono::milliseconds kNap{100};
  while (deadline - steady_clock::now() > 2 * kNap) {
    if (is_stopping_) throw Error("this device stops");
    std::this_thread::sleep_for(kNap);
  }
  sleep_until(deadline);
}

/// Plans this rank's sending: one transmission heard by all, or message after message.
void ThrottledFabric::reserve(Job& job) {
  const Slot& slot = *job.slot;
  const std::int64_t bytes = std::ssize(slot.payload.bytes);
  const bool is_broadcast = options_.links.front().topology == Topology::broadcast;
  job.send_start = job.send_end = job.ready;
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
  const Rate rate = to == device() ? std::ranges::min(link.rates) : link.between(device(), to);
  const Pacer::Span span = pacer_.reserve(bytes, rate, job.send_end);
  if (job.send_start == job.send_end) job.send_start = span.start;  // the first one
  job.send_end = span.end;
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
  job.ready = steady_clock::now();
  reserve(job);
  pause_until(job.send_end);
}

}  // namespace thinwire::fabric
