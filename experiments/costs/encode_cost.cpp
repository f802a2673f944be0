// CPU time of the device's thread to encode, copy and post a frame of 99 indices, as a device of
// ViT-B/16 at P = 2 sends in every block: from the chosen indices (the search for them is not in
// it) over packing them into the frame and handing it to the fabric until the next compute phase
// has begun, where a wall clock wakes its communication thread. Prints rows of a Markdown table;
// exit status 1 when a figure misses its target.
//
//   mpirun --oversubscribe --bind-to none -n 2 encode_cost [BLOCKS]
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "figure.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/compress/index_frame.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/mpi_session.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"

namespace thinwire::costs {
namespace {

constexpr double kTarget_s = 3e-6;
constexpr Index kTokens = 99, kCodewords = 1024;
constexpr int kCalls = 200;  // a block

/// CPU time that the calling thread has used.
double thread_cpu_s() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

std::vector<std::int32_t> some_indices() {
  std::vector<std::int32_t> indices;
  const RandomStream random("encode_cost", 0);
  for (std::uint64_t i = 0; i < kTokens; ++i)
    indices.push_back(static_cast<std::int32_t>(random.uniform(i) * kCodewords));
  return indices;
}

/// Seconds a frame, one sample a block.
std::vector<double> measure(fabric::Transport& world, fabric::Clock clock,
                            const compress::FrameFormat& format, int blocks) {
  fabric::FabricOptions options;
  options.clock = clock;
  const auto fabric = fabric::make_fabric(world, options);
  const std::vector<std::int32_t> indices = some_indices();
  const auto size = compress::frame_size(kTokens, format.bits, format.has_header);
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(world.size()), size.bytes());
  std::vector<std::byte> frame(static_cast<std::size_t>(size.bytes()));
  std::vector<std::byte> frames(frame.size() * sizes.size());

  const auto send = [&] {
    fabric->compute({"search", 0}, [](Operations&) {});  // the turn is taken before
    const double start_s = thread_cpu_s();
    fabric->compute({"pack", 0},
                    [&](Operations&) { compress::pack_indices(indices, format, frame); });
    fabric::Pending pending =
        fabric->all_gather({frame, size.header_bits, size.padding_bits}, frames, sizes);
    fabric->compute({"finish", 0}, [](Operations&) {});
    const double used_s = thread_cpu_s() - start_s;
    fabric->wait(std::move(pending));
    return used_s;
  };
  std::vector<double> samples_s;
  for (int block = -1; block < blocks; ++block) {
    double sum_s = 0;
    fabric->begin_iteration();
    for (int call = 0; call < kCalls; ++call) sum_s += send();
    fabric->end_iteration();
    if (block >= 0) samples_s.push_back(sum_s / kCalls);
  }
  return samples_s;
}

bool measure_all(fabric::MpiSession& session, int blocks) {
  struct Method {
    const char* name;
    compress::FrameFormat format;
  };
  const Method methods[] = {{"trace", {.bits = 10, .codewords = kCodewords}},
                            {"astra", {.bits = 16, .has_header = false, .codewords = kCodewords}}};
  bool holds = true;
  for (const fabric::Clock clock : {fabric::Clock::emulated, fabric::Clock::native})
    for (const auto& [name, format] : methods) {
      const auto samples_s = measure(session.world(), clock, format, blocks);
      if (session.rank() != 0) continue;
      const std::string figure = fmt::format("{} indices of {} ({} bits, {} clock), CPU time",
                                             kTokens, name, format.bits, to_string(clock));
      holds = print_time(figure, samples_s, kTarget_s) && holds;
    }
  return holds;
}

}  // namespace
}  // namespace thinwire::costs

int main(int argc, char** argv) {
  using namespace thinwire;
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 31;
  fabric::MpiSession session(argc, argv);
  const std::vector<int> cores = ops::allowed_cores();
  ops::set_threads(1);
  const ops::ThreadBinding binding(
      {cores[static_cast<std::size_t>(session.node_rank()) % cores.size()]});
  return costs::measure_all(session, blocks) ? 0 : 1;
}
