#include "link_shim/port.hpp"

#include <algorithm>
#include <cstddef>

namespace thinwire::link_shim {
namespace {

constexpr std::size_t kMostIntervals = 256;  // no program leaves more gaps that still matter

}  // namespace

double Port::serve(double start_s, double duration_s) {
  if (duration_s <= 0) return start_s;
  double end_s = start_s + duration_s;
  // Each busy time on the way postpones the end by its length.
  for (const Interval& busy : busy_)
    if (busy.end_s > start_s && busy.begin_s < end_s)
      end_s += busy.end_s - std::max(busy.begin_s, start_s);
  occupy(start_s, end_s);
  return end_s;
}

void Port::occupy(double begin_s, double end_s) {
  if (end_s <= begin_s) return;
  const auto first = std::ranges::lower_bound(busy_, begin_s, {}, &Interval::end_s);
  auto last = first;
  for (; last != busy_.end() && last->begin_s <= end_s; ++last) {
    begin_s = std::min(begin_s, last->begin_s);
    end_s = std::max(end_s, last->end_s);
  }
  busy_.insert(busy_.erase(first, last), {begin_s, end_s});
  if (busy_.size() > kMostIntervals) busy_.erase(busy_.begin());
}

}  // namespace thinwire::link_shim
