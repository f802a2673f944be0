#include "link_shim/endpoint.hpp"

#include <algorithm>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::link_shim {
namespace {

using fabric::Topology;

// The ranks' processes share the number: it must not hide a lock.
static_assert(std::atomic<double>::is_always_lock_free);

}  // namespace

Endpoint::Endpoint(fabric::Link link, int node, std::atomic<double>* medium_free_s)
    : link_(std::move(link)), node_(node), medium_free_s_(medium_free_s) {
  TW_REQUIRE(link_.topology != Topology::shared || medium_free_s != nullptr,
             "a shared link without its medium");
}

Stamp Endpoint::send(int to, std::int64_t bytes, double now_s) {
  const auto bits = 8.0 * static_cast<double>(link_.bytes_on_link(bytes));
  const double duration_s = link_.between(node_, to).seconds_for(bits);
  Stamp stamp{std::max(now_s, transmitter_free_s_), duration_s};
  if (link_.topology == Topology::shared) {
    double free_s = medium_free_s_->load();
    do {
      stamp.start_s = std::max({now_s, transmitter_free_s_, free_s});
    } while (!medium_free_s_->compare_exchange_weak(free_s, stamp.end_s()));
  }
  transmitter_free_s_ = stamp.end_s();
  return stamp;
}

double Endpoint::receive(const Stamp& stamp) {
  const double end_s = link_.topology == Topology::unicast
                           ? port_.serve(stamp.start_s, stamp.duration_s)
                           : stamp.end_s();
  return end_s + link_.latency.value_s();
}

Entry Endpoint::enter(double now_s) const {
  return {.ready_s = now_s,
          .transmitter_free_s = transmitter_free_s_,
          .port_free_s = port_.free_s(),
          .medium_free_s = link_.topology == Topology::shared ? medium_free_s_->load() : 0};
}

void Endpoint::leave(const Entry& before, const Entry& after) {
  // What was sent since a nonblocking collective began counts, too.
  transmitter_free_s_ = std::max(transmitter_free_s_, after.transmitter_free_s);
  port_.occupy(std::max(before.ready_s, before.port_free_s), after.port_free_s);
  if (link_.topology != Topology::shared) return;
  double free_s = medium_free_s_->load();
  while (free_s < after.medium_free_s &&
         !medium_free_s_->compare_exchange_weak(free_s, after.medium_free_s)) {
  }
}

}  // namespace thinwire::link_shim
