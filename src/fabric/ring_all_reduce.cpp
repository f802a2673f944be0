#include "thinwire/fabric/ring_all_reduce.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

std::size_t scratch_size(int devices, Index most_values) {
  TW_REQUIRE(devices >= 1 && most_values >= 0, "{} values over {} devices", most_values, devices);
  return devices == 1 ? 0 : static_cast<std::size_t>((most_values + devices - 1) / devices);
}

template <class Value>
std::span<Value> part(std::span<Value> values, Slice slice) {
  return values.subspan(static_cast<std::size_t>(slice.begin),
                        static_cast<std::size_t>(slice.size));
}

}  // namespace

RingAllReduce::RingAllReduce(int devices, Index most_values, std::pmr::memory_resource* memory)
    : devices_(devices),
      most_values_(most_values),
      received_(scratch_size(devices, most_values), memory) {}

void RingAllReduce::operator()(std::span<float> values, Phase phase, Fabric& fabric) {
  const Index count = std::ssize(values);
  TW_REQUIRE(fabric.devices() == devices_, "a ring of {} for {} devices", devices_,
             fabric.devices());
  TW_REQUIRE(count <= most_values_ && count >= devices_, "{} values in a ring of {} made for {}",
             count, devices_, most_values_);
  const int me = fabric.device();
  for (int step = 0; step < devices_ - 1; ++step) {
    const auto sum = part(values, chunk(count, me - step - 1));
    const auto received = std::span(received_).first(sum.size());
    pass_on(part(values, chunk(count, me - step)), received, fabric);
    fabric.compute(phase, [&](Operations&) {
      std::ranges::transform(sum, received, sum.begin(), std::plus<>());
    });
  }
  for (int step = 0; step < devices_ - 1; ++step)
    pass_on(part(values, chunk(count, me + 1 - step)), part(values, chunk(count, me - step)),
            fabric);
}

/// As PartitionPolicy::balanced, without its vector. Numbers go round the ring.
Slice RingAllReduce::chunk(Index values, int number) const {
  const Index index = (number + devices_) % devices_;
  const Index least = values / devices_, larger = values % devices_;
  return {index * least + std::min(index, larger), least + (index < larger ? 1 : 0)};
}

void RingAllReduce::pass_on(std::span<const float> mine, std::span<float> into,
                            Fabric& fabric) const {
  const int next = (fabric.device() + 1) % devices_;
  fabric.wait(fabric.send_receive({std::as_bytes(mine)}, next, std::as_writable_bytes(into)));
}

}  // namespace thinwire::fabric
