// Does the throttled clock keep the rate that it is told? An all-gather of 300 kB a device over
// every rate, against bits / rate. Run: mpirun -n 2 throttled_allgather > table.md
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <vector>

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/mpi_session.hpp"

namespace {

using namespace thinwire;

constexpr std::int64_t kBytes = 300'000;
constexpr int kRepetitions = 15;
constexpr std::array kRates = {10e6, 50e6, 200e6};  // bit/s

/// Seconds from publishing to delivery on this rank, median over the repetitions.
double median_seconds(fabric::Transport& transport, Rate rate) {
  fabric::FabricOptions options;
  options.clock = fabric::Clock::throttled;
  options.links = {{{rate}, Seconds(0), fabric::Topology::unicast}};
  const auto device = fabric::make_fabric(transport, options);
  const std::vector<std::byte> mine(kBytes);
  std::vector<std::byte> all(static_cast<std::size_t>(kBytes * transport.size()));
  std::vector<double> seconds;
  for (int repetition = -1; repetition < kRepetitions; ++repetition) {
    device->begin_iteration();
    device->wait(device->all_gather({mine}, all));
    const double wait_s = device->end_iteration().links.front().wait_s;
    if (repetition >= 0) seconds.push_back(wait_s);  // the first one touches the buffers
  }
  std::ranges::nth_element(seconds, seconds.begin() + kRepetitions / 2);
  return seconds[kRepetitions / 2];
}

void print_table(fabric::MpiSession& session) {
  if (session.rank() == 0)
    fmt::print(
        "| rate | formula ms | measured median ms | difference % |\n| --- | --- | --- | --- |\n");
  for (const double bit_per_s : kRates) {
    const Rate rate = Rate::bits_per_second(bit_per_s);
    const double formula_s = rate.seconds_for(8.0 * kBytes * (session.size() - 1));
    const double measured_s = median_seconds(session.world(), rate);
    if (session.rank() == 0)
      fmt::print("| {} | {:.2f} | {:.2f} | {:+.2f} |\n", to_string(rate), 1e3 * formula_s,
                 1e3 * measured_s, 100 * (measured_s / formula_s - 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  thinwire::fabric::MpiSession session(argc, argv);
  try {
    print_table(session);
  } catch (const std::exception& error) {
    session.abort(error.what(), 1);
  }
}
