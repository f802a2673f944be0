#include "fabric/wall_fabric.hpp"

#include <algorithm>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

using std::chrono::steady_clock;

double seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

WallFabric::WallFabric(Transport& all, Transport* devices, FabricOptions options)
    : Fabric(all, devices, std::move(options)),
      bits_(options_.links.front(), this->devices(), has_terminal()),
      no_times_(static_cast<std::size_t>(all.size())),
      no_arrivals_(no_times_.size()) {}

void WallFabric::stop() {
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

void WallFabric::on_begin(std::int64_t iteration) {
  iteration_ = iteration;
  bits_.reset();
  kept_.clear();
  compute_s_ = wait_s_ = hidden_s_ = skew_s_ = 0;
  milestone_s_.fill(LinkTimes::kNever);
  iteration_start_ = steady_clock::now();
}

void WallFabric::on_compute_start(Phase /*phase*/) {
  if (!kept_.empty()) hand_over();
  compute_start_ = steady_clock::now();
}

void WallFabric::on_compute_end(Phase phase) {
  const Time now = steady_clock::now();
  compute_s_ += seconds(now - compute_start_);
  record(TimelineEvent::Kind::compute, phase.name, compute_start_, now);
}

void WallFabric::on_start(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  if (index >= jobs_.size()) jobs_.resize(index + 1);
  Job& job = jobs_[index];
  job = {};
  job.slot = &slots_[index];
  job.published = job.send_start = job.send_end = steady_clock::now();
  kept_.push_back(&job);
}

void WallFabric::hand_over() {
  {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), kept_.begin(), kept_.end());
  }
  kept_.clear();
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread(&WallFabric::communicate, this);
}

void WallFabric::on_wait(int slot) {
  Job& job = jobs_[static_cast<std::size_t>(slot)];
  const Time waiting_since = steady_clock::now();
  on_awaited(true);
  // Collectives are waited for in order, so that all before the first of kept_ have arrived.
  if (!kept_.empty() && kept_.front() == &job) {
    kept_.erase(kept_.begin());
    carry_and_count(job);
  } else {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job.is_done; });
  }
  on_awaited(false);
  if (job.error) std::rethrow_exception(job.error);
  account(job, waiting_since, steady_clock::now());
}

void WallFabric::account(const Job& job, Time waiting_since, Time waited_until) {
  wait_s_ += seconds(waited_until - waiting_since);
  hidden_s_ += std::max(0.0, seconds(std::min(waiting_since, job.done) - job.published));
  if (knows_skew())
    skew_s_ += std::max(0.0, seconds(std::min(job.met, waited_until) - waiting_since));
  record(TimelineEvent::Kind::wait, "wait", waiting_since, waited_until);
  if (job.send_end > job.send_start)
    record(TimelineEvent::Kind::transfer, "send", job.send_start, job.send_end);
}

double WallFabric::transfer_s(const Slot& slot) const {
  const Job& job = jobs_[static_cast<std::size_t>(slot.index)];
  return seconds(job.done - (knows_skew() ? job.met : job.published));
}

void WallFabric::record(TimelineEvent::Kind kind, const char* name, Time start, Time end) {
  if (options_.record_timeline)
    timeline_.push_back({kind, name, layer(), 0, device(), seconds(start - iteration_start_),
                         seconds(end - start)});
}

void WallFabric::on_mark(Milestone milestone) {
  milestone_s_[static_cast<std::size_t>(milestone)] =
      seconds(steady_clock::now() - iteration_start_);
}

void WallFabric::on_end(DeviceIteration& result) {
  result.links.push_back({result.wall_s - wait_s_, wait_s_, hidden_s_, skew_s_, milestone_s_});
  result.link_bits.push_back(bits_.link_bits());
}

void WallFabric::carry_and_count(Job& job) {
  carry(job);
  count_bits(*job.slot);
}

void WallFabric::communicate() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    if (is_stopping_) return;
    Job& job = *queue_.front();
    queue_.erase(queue_.begin());
    is_carrying_ = true;
    lock.unlock();
    try {
      carry_and_count(job);
    } catch (...) {
      job.error = std::current_exception();
    }
    lock.lock();
    is_carrying_ = false;
    job.is_done = true;
    changed_.notify_all();
  }
}

void WallFabric::tell(Slot& slot) {
  begin_stamp(slot);
  if (includes_terminal(slot)) bits_.save_state(stamps_.add(bits_.state_size()));
  exchange_stamps(slot);
  if (includes_terminal(slot)) bits_.load_state(added_stamp(0));
}

void WallFabric::count_bits(const Slot& slot) {
  const auto ready_s = std::span(no_times_).first(slot.sizes.size());
  const auto arrival_s = std::span(no_arrivals_).first(slot.sizes.size());
  if (slot.kind == Kind::all_gather)
    bits_.all_gather(ready_s, slot.sizes, arrival_s);
  else
    bits_.send(ready_s, slot.messages, arrival_s);
}

}  // namespace thinwire::fabric
