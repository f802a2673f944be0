#include "thinwire/fabric/stamps.hpp"

#include <algorithm>

#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {

std::span<double> Stamps::add(std::size_t count) {
  mine_.resize(mine_.size() + count);
  return std::span(mine_).last(count);
}

void Stamps::add(std::span<const double> values) {
  std::ranges::copy(values, add(values.size()).begin());
}

void Stamps::exchange(Transport& transport) {
  all_.resize(mine_.size() * static_cast<std::size_t>(transport.size()));
  transport.tell(std::as_bytes(std::span(mine_)), std::as_writable_bytes(std::span(all_)));
}

std::span<const double> Stamps::of(int rank) const {
  return std::span(all_).subspan(static_cast<std::size_t>(rank) * mine_.size(), mine_.size());
}

}  // namespace thinwire::fabric
