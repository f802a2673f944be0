// A single device's whole pass against the bare oneDNN products of the same shapes, alternating in
// one process: what share of the matmul rate a pass reaches. Set GOMP_SPINCOUNT=4000, as thinwire
// does for itself.
#include <benchmark/benchmark.h>

#include <chrono>
#include <string>

#include "ceiling.hpp"
#include "pass_products.hpp"
#include "thinwire/harness/statistics.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/strategy/strategy.hpp"
#include "thinwire/tensor/large_pages.hpp"

namespace thinwire::micro {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Model and weights as thinwire runs them, and the products beside them.
struct Contest {
  model::ModelConfig config;
  LargePages pages;
  std::pmr::monotonic_buffer_resource memory{&pages};
  model::Model model;
  model::ModelInput input;
  BareMatmuls matmuls;

  explicit Contest(const std::string& name)
      : config(model::preset(name)),
        model(config, *model::random_weights(config, 0), {&memory}),
        input(model::random_input(config, config.tokens, 0)),
        matmuls(products_of(config)) {}
};

void report_median(benchmark::State& state, const std::string& name, std::vector<double> samples) {
  const auto summary = harness::summarize(std::move(samples));
  state.counters[name + "_p50"] = summary.p50;
  state.counters[name + "_sd"] = summary.sd;
}

/// Every iteration runs the bare products, then a pass; only the pass counts as time.
void single_device_pass(benchmark::State& state, const std::string& name) {
  const int threads = static_cast<int>(state.range(0));
  ops::set_threads(threads);
  const ops::ThreadBinding binding(ops::allowed_cores());
  Contest contest(name);
  const auto transport = fabric::make_solo_transport();
  const auto fabric = fabric::make_fabric(*transport, {});
  const auto single = strategy::make_strategy(
      "single", contest.model, {}, {.threads = threads, .lengths = {contest.config.tokens}});
  Operations operations;
  const auto run_pass = [&] {
    fabric->begin_iteration();
    single->forward(contest.input, *fabric);
    operations = fabric->end_iteration().operations;
  };
  run_pass();

  std::vector<double> pass_ms, bare_ms, share_percent;
  for (auto _ : state) {
    const double bare_s = bare_matmul_seconds(contest.matmuls);
    const double pass_s = seconds_of(run_pass);
    state.SetIterationTime(pass_s);
    const double pass_rate = 2.0 * static_cast<double>(operations.matmul_macs) / pass_s;
    pass_ms.push_back(pass_s * 1e3);
    bare_ms.push_back(bare_s * 1e3);
    share_percent.push_back(100 * pass_rate / (contest.matmuls.flops() / bare_s));
  }
  report_median(state, "pass_ms", pass_ms);
  report_median(state, "bare_ms", bare_ms);
  report_median(state, "share_of_bare_percent", share_percent);
}

void on_one_and_two_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("threads")->Arg(1)->Arg(2)->Iterations(25)->UseManualTime()->Unit(
      benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(single_device_pass, vit_base_16, std::string("vit-base-16"))
    ->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(single_device_pass, bert_base, std::string("bert-base"))
    ->Apply(on_one_and_two_threads);
BENCHMARK_CAPTURE(single_device_pass, gpt2, std::string("gpt2"))->Apply(on_one_and_two_threads);

}  // namespace
}  // namespace thinwire::micro
