#include "fabric/virtual_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

Link without_cost(Link link) {
  link.rates = {Rate::unlimited()};
  link.latency = Seconds(0);
  return link;
}

}  // namespace

VirtualFabric::VirtualFabric(Transport& transport, FabricOptions options)
    : Fabric(transport, std::move(options)) {
  if (!options_.slowness.empty()) slowness_ = options_.slowness[at(device())];
  if (options_.clock == Clock::modelled) flops_per_s_ = options_.device_flops_per_s[at(device())];
  for (const Link& link : options_.links) entries_.push_back({LinkModel(link, devices()), {}});
  for (const Link& link : options_.links)
    entries_.push_back({LinkModel(without_cost(link), devices()), {}});
  my_stamp_.resize(entries_.size() + 1);
  all_stamps_.resize(my_stamp_.size() * at(devices()));
  peer_ready_s_.resize(at(devices()));
  latest_arrival_s_.resize(at(devices()));
}

VirtualFabric::~VirtualFabric() {
  give_turn();  // an exception between two phases
}

void VirtualFabric::on_begin() {
  compute_s_ = 0;
  eviction_ = {};
  for (Entry& entry : entries_) {
    entry.link.reset();
    entry.clock = {};
  }
}

void VirtualFabric::on_compute_start(Phase /*phase*/) {
  TW_REQUIRE(!is_computing_, "compute inside compute");
  take_turn();
  is_computing_ = true;
  compute_start_ = std::chrono::steady_clock::now();
}

void VirtualFabric::on_compute_end(Phase phase) {
  const auto end = std::chrono::steady_clock::now();
  is_computing_ = false;
  if (options_.clock == Clock::emulated) {
    if (std::uncaught_exceptions() > 0) give_turn();
    const std::chrono::duration<double> measured = end - compute_start_;
    charge(compute_s_ + measured.count() * slowness_, phase);
  } else {
    // From the running total, so that times do not depend on how work is cut into calls.
    const std::int64_t total = flops(operations_, Convention::paper);
    charge(static_cast<double>(total) * slowness_ / flops_per_s_, phase);
  }
}

/// A device keeps its turn until it waits, so that it works as it would alone: caches and threads
/// are not handed over between two phases.
void VirtualFabric::take_turn() {
  if (options_.clock != Clock::emulated || has_turn_) return;
  if (options_.cold_weights && !evictor_) evictor_.emplace();
  transport_.turn().acquire();
  has_turn_ = true;
  if (!evictor_) return;
  const auto start = std::chrono::steady_clock::now();
  evictor_->evict();
  eviction_ += std::chrono::steady_clock::now() - start;
}

void VirtualFabric::give_turn() {
  if (has_turn_) transport_.turn().release();
  has_turn_ = false;
}

void VirtualFabric::charge(double total_s, Phase phase) {
  compute_s_ = total_s;
  for (int index = 0; index < std::ssize(entries_); ++index) {
    DeviceClock& clock = entries_[at(index)].clock;
    const double start_s = clock.now_s();
    clock.set_compute_s(total_s);
    if (is_recorded(index))
      record(TimelineEvent::Kind::compute, phase.name, index, start_s, clock.now_s());
  }
}

void VirtualFabric::on_start(int slot) {
  if (at(slot) >= ready_s_.size()) ready_s_.resize(at(slot) + 1, my_stamp_);
  for (std::size_t entry = 0; entry < entries_.size(); ++entry)
    ready_s_[at(slot)][entry] = entries_[entry].clock.now_s();
}

void VirtualFabric::on_wait(int slot) {
  give_turn();
  transport_.meet();
  exchange_stamps(slot);
  move_bytes(slots_[at(slot)]);
  transport_.meet();  // nobody computes while another rank is still busy inside MPI
  for (int entry = 0; entry < std::ssize(entries_); ++entry) arrive(entry, slot);
}

/// Ready times and sizes travel together; a double holds sizes to 2^53 exactly.
void VirtualFabric::exchange_stamps(int slot) {
  std::ranges::copy(ready_s_[at(slot)], my_stamp_.begin());
  my_stamp_.back() = static_cast<double>(slots_[at(slot)].payload.bytes.size());
  transport_.all_gather(std::as_bytes(std::span(my_stamp_)),
                        std::as_writable_bytes(std::span(all_stamps_)));
  for (std::size_t peer = 0; peer < at(devices()); ++peer)
    slots_[at(slot)].sizes[peer] =
        static_cast<std::int64_t>(all_stamps_[(peer + 1) * my_stamp_.size() - 1]);
}

/// Every rank computes the same arrivals under the entry's link and takes its own.
void VirtualFabric::arrive(int entry, int slot) {
  const Slot& collective = slots_[at(slot)];
  for (std::size_t peer = 0; peer < at(devices()); ++peer)
    peer_ready_s_[peer] = all_stamps_[peer * my_stamp_.size() + at(entry)];
  auto& [link, clock] = entries_[at(entry)];
  std::vector<Transfer>* const log = is_recorded(entry) ? &log_ : nullptr;
  log_.clear();
  if (collective.kind == Kind::all_gather)
    link.all_gather(peer_ready_s_, collective.sizes, latest_arrival_s_, log);
  else
    link.gather(collective.root, peer_ready_s_, collective.sizes, latest_arrival_s_, log);
  const double start_s = clock.now_s();
  clock.wait_until(latest_arrival_s_[at(device())], ready_s_[at(slot)][at(entry)]);
  if (log == nullptr) return;

  if (clock.now_s() > start_s)
    record(TimelineEvent::Kind::wait, "wait", entry, start_s, clock.now_s());
  for (const Transfer& transfer : log_)
    if (transfer.from == device())
      record(TimelineEvent::Kind::transfer,
             transfer.to == transfer.from ? "to all" : fmt::format("to device {}", transfer.to),
             entry, transfer.start_s, transfer.end_s);
}

void VirtualFabric::record(TimelineEvent::Kind kind, std::string name, int entry, double start_s,
                           double end_s) {
  timeline_.push_back({kind, std::move(name), layer(), entry, device(), start_s, end_s - start_s});
}

void VirtualFabric::on_end(DeviceIteration& result) {
  give_turn();
  result.eviction_s = std::chrono::duration<double>(eviction_).count();
  for (std::size_t index = 0; index < at(user_links()); ++index) {
    const auto& [link, clock] = entries_[index];
    const DeviceClock& unlimited = entries_[index + at(user_links())].clock;
    result.links.push_back(
        {clock.compute_s(), clock.wait_s(), clock.hidden_s(), unlimited.wait_s()});
    result.link_bits.push_back(link.link_bits());
  }
}

}  // namespace thinwire::fabric
