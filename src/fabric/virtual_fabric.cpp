#include "fabric/virtual_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

Link without_cost(Link link) {
  link.rates = {Rate::unlimited()};
  link.trace.reset();
  link.latency = Seconds(0);
  link.overhead = {};
  link.loss = {};
  return link;
}

std::string transfer_name(const Transfer& transfer, int devices) {
  if (transfer.to == transfer.from) return "to all";
  if (transfer.to == devices) return "to terminal";
  return fmt::format("to device {}", transfer.to);
}

}  // namespace

VirtualFabric::VirtualFabric(Transport& all, Transport* devices, FabricOptions options)
    : Fabric(all, devices, std::move(options)),
      rank_ready_s_(at(all.size())),
      latest_arrival_s_(rank_ready_s_.size()) {
  if (!options_.slowness.empty() && !is_terminal()) slowness_ = options_.slowness[at(device())];
  if (options_.clock == Clock::modelled)
    flops_per_s_ = options_.device_flops_per_s[is_terminal() ? 0 : at(device())];
  const auto add = [this](const Link& link) {
    entries_.push_back({LinkModel(link, this->devices(), has_terminal()), {}, {}});
  };
  for (const Link& link : options_.links) add(link);
  for (const Link& link : options_.links) {
    const Link free = without_cost(link);
    const auto twins = std::span(entries_).subspan(at(user_links()));
    const auto known =
        std::ranges::find_if(twins, [&](const Entry& twin) { return twin.link.link() == free; });
    twin_of_.push_back(at(user_links()) + static_cast<std::size_t>(known - twins.begin()));
    if (known == twins.end()) add(free);
  }
}

VirtualFabric::~VirtualFabric() {
  give_turn();  // an exception between two phases
}

void VirtualFabric::on_begin(std::int64_t iteration) {
  compute_s_ = 0;
  eviction_ = {};
  for (Entry& entry : entries_) {
    entry.link.reset(iteration);
    entry.clock = {};
    entry.milestone_s.fill(LinkTimes::kNever);
  }
}

void VirtualFabric::on_compute_start(Phase phase) {
  TW_REQUIRE(!is_computing_, "compute inside compute");
  take_turn(phase);
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
void VirtualFabric::take_turn(Phase phase) {
  if (options_.clock != Clock::emulated || has_turn_) return;
  if (options_.cold_weights && !evictor_) evictor_.emplace();
  report("turn");  // others compute meanwhile
  all_.turn().acquire();
  report(phase.name);
  has_turn_ = true;
  if (!evictor_) return;
  const auto start = std::chrono::steady_clock::now();
  evictor_->evict();
  eviction_ += std::chrono::steady_clock::now() - start;
}

void VirtualFabric::give_turn() {
  if (has_turn_) all_.turn().release();
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
  if (at(slot) >= ready_s_.size())
    ready_s_.resize(at(slot) + 1, std::vector<double>(entries_.size()));
  for (std::size_t entry = 0; entry < entries_.size(); ++entry)
    ready_s_[at(slot)][entry] = entries_[entry].clock.now_s();
}

void VirtualFabric::on_wait(int slot) {
  give_turn();
  tell(slot);
  move_bytes(slots_[at(slot)]);
  transport_of(slots_[at(slot)])
      .meet();  // nobody computes while another rank is still busy inside MPI
  for (int entry = 0; entry < std::ssize(entries_); ++entry) arrive(entry, slot);
}

/// Ready times travel with the sizes; towards the terminal, the link's state does too.
void VirtualFabric::tell(int slot) {
  Slot& collective = slots_[at(slot)];
  const bool is_state_told = includes_terminal(collective);
  begin_stamp(collective);
  stamps_.add(ready_s_[at(slot)]);
  if (is_state_told)
    for (const Entry& entry : entries_) entry.link.save_state(stamps_.add(entry.link.state_size()));
  exchange_stamps(collective);
  if (!is_state_told) return;
  std::span<const double> states = added_stamp(0).subspan(entries_.size());
  for (Entry& entry : entries_) {
    entry.link.load_state(states.first(entry.link.state_size()));
    states = states.subspan(entry.link.state_size());
  }
}

/// Every rank computes the same arrivals under the entry's link and takes its own.
void VirtualFabric::arrive(int entry, int slot) {
  const Slot& collective = slots_[at(slot)];
  const std::size_t ranks = collective.sizes.size();
  const auto ready_s = std::span(rank_ready_s_).first(ranks);
  const auto latest_arrival_s = std::span(latest_arrival_s_).first(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    ready_s[rank] = added_stamp(static_cast<int>(rank))[at(entry)];
  auto& [link, clock, milestone_s] = entries_[at(entry)];
  std::vector<Transfer>* const log = is_recorded(entry) ? &log_ : nullptr;
  log_.clear();
  if (collective.kind == Kind::all_gather)
    link.all_gather(ready_s, collective.sizes, latest_arrival_s, log);
  else
    link.send(ready_s, collective.messages, latest_arrival_s, log);
  if (entry == 0) transfer_s_ = transfer_s_of(collective);
  const double waiting_since_s = clock.now_s();
  clock.wait_until(latest_arrival_s[at(device())], ready_s_[at(slot)][at(entry)]);
  if (log != nullptr) record_arrival(entry, waiting_since_s);
}

/// From the last sender's publishing to the latest arrival here, from what arrive() found.
double VirtualFabric::transfer_s_of(const Slot& collective) const {
  double published_s = 0;
  for (std::size_t rank = 0; rank < collective.sizes.size(); ++rank)
    if (rank != at(device()) && collective.sizes[rank] > 0)
      published_s = std::max(published_s, rank_ready_s_[rank]);
  return std::max(0.0, latest_arrival_s_[at(device())] - published_s);
}

void VirtualFabric::record_arrival(int entry, double waiting_since_s) {
  const double now_s = entries_[at(entry)].clock.now_s();
  if (now_s > waiting_since_s)
    record(TimelineEvent::Kind::wait, "wait", entry, waiting_since_s, now_s);
  for (const Transfer& transfer : log_)
    if (transfer.from == device())
      record(TimelineEvent::Kind::transfer, transfer_name(transfer, devices()), entry,
             transfer.start_s, transfer.end_s);
}

void VirtualFabric::on_mark(Milestone milestone) {
  for (Entry& entry : entries_)
    entry.milestone_s[static_cast<std::size_t>(milestone)] = entry.clock.now_s();
}

void VirtualFabric::record(TimelineEvent::Kind kind, std::string name, int entry, double start_s,
                           double end_s) {
  timeline_.push_back({kind, std::move(name), layer(), entry, device(), start_s, end_s - start_s});
}

void VirtualFabric::on_end(DeviceIteration& result) {
  give_turn();
  result.eviction_s = std::chrono::duration<double>(eviction_).count();
  for (std::size_t index = 0; index < at(user_links()); ++index) {
    const auto& [link, clock, milestone_s] = entries_[index];
    const DeviceClock& unlimited = entries_[twin_of_[index]].clock;
    result.links.push_back(
        {clock.compute_s(), clock.wait_s(), clock.hidden_s(), unlimited.wait_s(), milestone_s});
    result.link_bits.push_back(link.link_bits());
    if (link.link().loss.repeats()) result.repeated_packets.push_back(link.repeated_packets());
  }
}

}  // namespace thinwire::fabric
