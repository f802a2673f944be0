// A single device's whole pass against the bare oneDNN products of the same shapes, alternating in
// one process: what share of the matmul rate a pass reaches.
//
//   GOMP_SPINCOUNT=4000 thinwire_pass [MODEL [THREADS [REPETITIONS]]]   (vit-base-16 2 25)
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "ceiling.hpp"
#include "thinwire/harness/statistics.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::micro {
namespace {

/// The products of a pass on one device, attention's two left out (they are no packed products).
std::vector<Product> products_of(const model::ModelConfig& config) {
  const Index n = config.tokens, hidden = config.hidden;
  const auto gelu =
      config.gelu == model::Gelu::erf ? ops::Activation::gelu_erf : ops::Activation::gelu_tanh;
  std::vector<Product> products;
  if (!config.is_text()) products.push_back({config.patches(), config.patch_inputs(), hidden});
  for (Index layer = 0; layer < config.layers; ++layer) {
    products.push_back({n, hidden, hidden});
    products.push_back({n, hidden, 2 * hidden});
    products.push_back({n, hidden, hidden});
    products.push_back({n, hidden, config.ffn, gelu});
    products.push_back({n, config.ffn, hidden});
  }
  if (config.head == model::HeadKind::language_model)
    products.push_back({n, hidden, config.vocabulary});
  return products;
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(const std::string& name, int threads, int repetitions) {
  ops::set_threads(threads);
  const auto config = model::preset(name);
  const auto source = model::random_weights(config, 0);
  const model::Model model(config, *source, {std::pmr::new_delete_resource()});
  const auto input = model::random_input(config, config.tokens, 0);
  const auto transport = fabric::make_solo_transport();
  const auto fabric = fabric::make_fabric(*transport, {});
  const auto single = strategy::make_strategy("single", model, {},
                                              {.threads = threads, .lengths = {config.tokens}});
  BareMatmuls matmuls(products_of(config));

  std::vector<double> pass_s, bare_s, share;
  Operations operations;
  for (int i = -2; i < repetitions; ++i) {
    const double bare = bare_matmul_seconds(matmuls);
    const double pass = seconds_of([&] {
      fabric->begin_iteration();
      single->forward(input, *fabric);
      operations = fabric->end_iteration().operations;
    });
    if (i < 0) continue;
    bare_s.push_back(bare);
    pass_s.push_back(pass);
    const double pass_rate = 2.0 * static_cast<double>(operations.matmul_macs) / pass;
    share.push_back(pass_rate / (matmuls.flops() / bare));
  }
  const auto pass = harness::summarize(pass_s), bare = harness::summarize(bare_s),
             ratio = harness::summarize(share);
  fmt::print("{}, {} thread{}, medians of {} alternating repetitions\n", name, threads,
             threads == 1 ? "" : "s", repetitions);
  fmt::print("  pass            {:8.2f} ms (min {:.2f}, max {:.2f}), {:.1f} GFLOP/s of products\n",
             pass.p50 * 1e3, pass.min * 1e3, pass.max * 1e3,
             2e-9 * static_cast<double>(operations.matmul_macs) / pass.p50);
  fmt::print("  bare products   {:8.2f} ms (min {:.2f}, max {:.2f}), {:.1f} GFLOP/s\n",
             bare.p50 * 1e3, bare.min * 1e3, bare.max * 1e3, matmuls.flops() / bare.p50 * 1e-9);
  fmt::print("  share of the bare rate: {:.1f} % (sd {:.1f})\n", 100 * ratio.p50, 100 * ratio.sd);
}

}  // namespace
}  // namespace thinwire::micro

int main(int argc, char** argv) {
  thinwire::micro::compare(argc > 1 ? argv[1] : "vit-base-16", argc > 2 ? std::atoi(argv[2]) : 2,
                           argc > 3 ? std::atoi(argv[3]) : 25);
}
