#include "link_shim/collective_times.hpp"

#include <algorithm>
#include <cstddef>

namespace thinwire::link_shim {
namespace {

std::size_t at(int member) {
  return static_cast<std::size_t>(member);
}

}  // namespace

CollectiveTimes::CollectiveTimes(const fabric::Link& link, std::span<const Entry> entries)
    : model_(link, static_cast<int>(entries.size())),
      ready_s_(entries.size()),
      arrival_s_(entries.size()),
      left_s_(entries.size()),
      step_arrival_s_(entries.size()) {
  std::vector<double> state(model_.state_size());
  for (std::size_t p = 0; p < entries.size(); ++p) {
    ready_s_[p] = entries[p].ready_s;
    state[p] = entries[p].transmitter_free_s;
    state[entries.size() + p] = entries[p].port_free_s;
    double& medium_free_s = state[2 * entries.size()];
    medium_free_s = std::max(medium_free_s, entries[p].medium_free_s);
  }
  model_.load_state(state);
}

void CollectiveTimes::all_gather(std::span<const std::int64_t> bytes) {
  step_.clear();
  model_.all_gather(ready_s_, bytes, step_arrival_s_, &step_);
  note_step();
}

void CollectiveTimes::all_to_all(std::span<const std::int64_t> bytes) {
  std::vector<fabric::Message> round(ready_s_.size());
  for (int k = 1; k < members(); ++k) {
    for (int p = 0; p < members(); ++p) {
      const int to = (p + k) % members();
      round[at(p)] = {p, to, bytes[at(p) * ready_s_.size() + at(to)]};
    }
    send(round);
  }
}

void CollectiveTimes::gather(int root, std::span<const std::int64_t> bytes) {
  step_.clear();
  model_.gather(root, ready_s_, bytes, step_arrival_s_, &step_);
  note_step();
}

void CollectiveTimes::scatter(int root, std::span<const std::int64_t> bytes) {
  std::vector<fabric::Message> messages;
  for (int p = 0; p < members(); ++p)
    if (p != root) messages.push_back({root, p, bytes[at(p)]});
  send(messages);
}

void CollectiveTimes::reduce_scatter(std::span<const std::int64_t> chunks) {
  pass_around(chunks, -1);
}

void CollectiveTimes::all_reduce(std::span<const std::int64_t> chunks) {
  pass_around(chunks, 0);
  pass_around(chunks, 1);
}

void CollectiveTimes::reduce(int root, std::span<const std::int64_t> chunks) {
  reduce_scatter(chunks);
  gather(root, chunks);
}

void CollectiveTimes::scan(std::int64_t bytes) {
  for (int p = 0; p + 1 < members(); ++p) {
    const fabric::Message message{p, p + 1, bytes};
    send({&message, 1});
    wait_for_arrivals();
  }
}

void CollectiveTimes::barrier() {
  for (int p = 0; p < members(); ++p)
    for (int q = 0; q < members(); ++q)
      if (q != p)
        arrival_s_[at(p)] =
            std::max(arrival_s_[at(p)], ready_s_[at(q)] + model_.link().latency.value_s());
}

Entry CollectiveTimes::after(int member) const {
  std::vector<double> state(model_.state_size());
  model_.save_state(state);
  return {.ready_s = std::max({ready_s_[at(member)], arrival_s_[at(member)], left_s_[at(member)]}),
          .transmitter_free_s = state[at(member)],
          .port_free_s = state[ready_s_.size() + at(member)],
          .medium_free_s = state[2 * ready_s_.size()]};
}

void CollectiveTimes::send(std::span<const fabric::Message> messages) {
  step_.clear();
  model_.send(ready_s_, messages, step_arrival_s_, &step_);
  note_step();
}

void CollectiveTimes::pass_around(std::span<const std::int64_t> chunks, int offset) {
  std::vector<fabric::Message> step(ready_s_.size());
  for (int s = 0; s < members() - 1; ++s) {
    for (int p = 0; p < members(); ++p) {
      const int chunk = (p + offset - s + 2 * members()) % members();
      step[at(p)] = {p, (p + 1) % members(), chunks[at(chunk)]};
    }
    send(step);
    wait_for_arrivals();
  }
}

void CollectiveTimes::note_step() {
  for (std::size_t p = 0; p < arrival_s_.size(); ++p)
    arrival_s_[p] = std::max(arrival_s_[p], step_arrival_s_[p]);
  for (const fabric::Transfer& transfer : step_)
    left_s_[at(transfer.from)] = std::max(left_s_[at(transfer.from)], transfer.end_s);
}

void CollectiveTimes::wait_for_arrivals() {
  for (std::size_t p = 0; p < ready_s_.size(); ++p)
    ready_s_[p] = std::max(ready_s_[p], arrival_s_[p]);
}

std::vector<std::int64_t> balanced_chunks(std::int64_t count, std::int64_t element_bytes,
                                          int members) {
  std::vector<std::int64_t> chunks(at(members), count / members * element_bytes);
  for (std::int64_t p = 0; p < count % members; ++p)
    chunks[static_cast<std::size_t>(p)] += element_bytes;
  return chunks;
}

}  // namespace thinwire::link_shim
