// Does a device that has a share of the tokens compute at the rate of the single device? Each
// strategy's pass of one device among 2, 3 and 6, alone on the machine with what its peers sent
// played back, in turn with the single device's pass; then the products of a block by themselves,
// to say where a loss comes from. Prints Markdown tables; exit status 1 when a rate is too low.
//
//   thinwire_scaling MODEL THREADS ROUNDS
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>

#include "../validation/replay_transport.hpp"
#include "ceiling.hpp"
#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/local_devices.hpp"
#include "thinwire/harness/statistics.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/strategy/strategy.hpp"
#include "thinwire/tensor/large_pages.hpp"

namespace thinwire::micro {
namespace {

constexpr double kTarget = 0.85;  // of the single device's rate
constexpr std::array kDevices{2, 3, 6};
constexpr std::array kStrategies{"voltage", "prism", "trace-b"};

struct Plan {
  std::string model;
  int threads = 1;
  int rounds = 15;
};

/// Model, input and codebooks that all shares use.
struct Bench {
  LargePages pages;
  std::pmr::monotonic_buffer_resource memory{&pages};  // as a process alone keeps its weights
  model::Model model;
  model::ModelInput input;
  std::optional<compress::CodebookSet> codebooks;

  explicit Bench(const model::ModelConfig& config)
      : model(config, *model::random_weights(config, 0), {&memory}),
        input(model::random_input(config, config.tokens, 0)) {
    const auto entry =
        std::ranges::find(strategy::strategies(), "trace-b", &strategy::StrategyEntry::name);
    codebooks.emplace(model, *entry->codebooks,
                      *compress::random_codebooks(config, *entry->codebooks, 1024, 0),
                      model::WeightPlace{&memory});
  }
  Index tokens() const { return model.config().tokens; }
};

/// One device's part of a pass.
class Share {
 public:
  Share(const Bench& bench, std::string strategy, int devices, int threads)
      : bench_(bench), name_(std::move(strategy)), devices_(devices), threads_(threads) {
    if (devices_ > 1) record();
    fabric_ = fabric::make_fabric(replay_, {});
    strategy_ = make(device(), threads_);
  }

  const std::string& name() const { return name_; }
  int devices() const { return devices_; }
  Index rows() const {
    const auto slices = partition(bench_.tokens(), devices_, PartitionPolicy::paper);
    return slices[static_cast<std::size_t>(device())].size;
  }

  /// Multiply-adds a second of the device's compute time, counted as 2 operations.
  double flops_per_s() {
    replay_.rewind();
    const fabric::DeviceIteration pass = run(*strategy_, *fabric_);
    seconds_.push_back(pass.links[0].compute_s);
    return 2.0 * static_cast<double>(pass.operations.matmul_macs) / seconds_.back();
  }
  double median_s() const { return harness::summarize(seconds_).p50; }
  void forget() { seconds_.clear(); }

 private:
  /// One in the middle, with peers on both sides where there are three or more.
  int device() const { return (devices_ - 1) / 2; }

  std::unique_ptr<strategy::Strategy> make(int device, int threads) const {
    return strategy::make_strategy(
        name_, bench_.model, {.segments = 10, .codebooks = &*bench_.codebooks},
        {.device = device, .devices = devices_, .threads = threads, .lengths = {bench_.tokens()}});
  }

  fabric::DeviceIteration run(strategy::Strategy& strategy, fabric::Fabric& fabric) const {
    fabric.begin_iteration();
    strategy.forward(bench_.input, fabric);
    return fabric.end_iteration();
  }

  void record() {
    fabric::on_local_devices(devices_, [&](fabric::Transport& transport) {
      ops::set_threads(1);
      validation::Tape others;
      validation::RecordingTransport recording(transport,
                                               transport.rank() == device() ? tape_ : others);
      run(*make(transport.rank(), 1), *fabric::make_fabric(recording, {}));
    });
  }

  const Bench& bench_;
  std::string name_;
  int devices_, threads_;
  validation::Tape tape_;
  validation::ReplayTransport replay_{device(), devices_, tape_};
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<strategy::Strategy> strategy_;
  std::vector<double> seconds_;
};

/// Medians of what was measured in turn; ratios are taken round by round.
struct Rates {
  std::vector<double> flops_per_s, ratios;

  void add(double rate, double reference) {
    flops_per_s.push_back(rate);
    ratios.push_back(rate / reference);
    std::ranges::sort(ratios);
  }
  double gflops() const { return harness::summarize(flops_per_s).p50 / 1e9; }
  double ratio(double percent = 50) const { return harness::percentile(ratios, percent); }
};

/// Runs `measure` of every object once a round, `rounds` times and once before that does not count;
/// the first object is what the others are compared with.
template <class Object>
std::vector<Rates> in_turn(std::deque<Object>& objects, int rounds) {
  std::vector<Rates> rates(objects.size());
  for (int round = -1; round < rounds; ++round) {
    std::vector<double> measured;
    for (Object& object : objects) measured.push_back(object.flops_per_s());
    if (round < 0) {
      for (Object& object : objects) object.forget();
      continue;
    }
    for (std::size_t i = 0; i < objects.size(); ++i) rates[i].add(measured[i], measured[0]);
  }
  return rates;
}

bool print_shares(const Plan& plan, const Bench& bench) {
  std::deque<Share> shares;
  shares.emplace_back(bench, "single", 1, plan.threads);
  for (const char* strategy : kStrategies)
    for (const int devices : kDevices) shares.emplace_back(bench, strategy, devices, plan.threads);
  const std::vector<Rates> rates = in_turn(shares, plan.rounds);

  fmt::print(
      "{}, {} thread{}: a device's share of a pass, medians of {} rounds in turn\n\n"
      "| strategy | P | rows | compute, ms | GFLOP/s | of single | quarters | target | |\n"
      "|---|---:|---:|---:|---:|---:|---|---|---|\n",
      plan.model, plan.threads, plan.threads == 1 ? "" : "s", plan.rounds);
  bool all_hold = true;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const bool holds = rates[i].ratio() >= kTarget;
    all_hold = all_hold && holds;
    fmt::print("| {} | {} | {} | {:.2f} | {:.1f} | {:.3f} | {:.3f} to {:.3f} | {} |\n",
               shares[i].name(), shares[i].devices(), shares[i].rows(), shares[i].median_s() * 1e3,
               rates[i].gflops(), rates[i].ratio(), rates[i].ratio(25), rates[i].ratio(75),
               i == 0  ? "| "
               : holds ? ">= 0.85 | pass"
                       : ">= 0.85 | FAIL");
  }
  fmt::print("\n");
  return all_hold;
}

/// A product of a block, as often as a pass does it: with weights of its own for every layer, which
/// come from memory, or always with the same, which come from a cache.
class LayerProducts {
 public:
  LayerProducts(const Product& product, ops::Epilogue epilogue, int weights,
                std::pmr::memory_resource* memory)
      : product_(product), x_(product.rows, product.inputs), y_(product.rows, product.outputs) {
    const Matrix<float> weight(product.outputs, product.inputs);
    const std::vector<float> bias(static_cast<std::size_t>(product.outputs));
    for (int i = 0; i < weights; ++i) multiply_.emplace_back(weight.view(), bias, epilogue, memory);
  }
  double flops_per_s() {
    const auto start = std::chrono::steady_clock::now();
    for (int layer = 0; layer < kLayers; ++layer)
      multiply_[static_cast<std::size_t>(layer) % multiply_.size()](x_.view(), y_.view(), counted_);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return 2.0 * kLayers * static_cast<double>(product_.rows * product_.inputs * product_.outputs) /
           spent.count();
  }
  void forget() {}

  static constexpr int kLayers = 12;

 private:
  Product product_;
  Matrix<float> x_, y_;
  std::deque<ops::Linear> multiply_;
  Operations counted_;
};

void print_product(const Plan& plan, const char* name, Product product, ops::Epilogue epilogue) {
  const Index tokens = product.rows;
  std::vector<Index> rows{tokens};
  for (const int devices : kDevices) rows.push_back(tokens / devices);
  LargePages pages;
  std::pmr::monotonic_buffer_resource memory(&pages);  // as Bench's
  std::deque<LayerProducts> objects;
  for (const Index count : rows)
    for (const int weights : {LayerProducts::kLayers, 1}) {
      product.rows = count;
      objects.emplace_back(product, epilogue, weights, &memory);
    }
  const std::vector<Rates> rates = in_turn(objects, plan.rounds);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Rates& layers = rates[2 * i];
    const Rates& cached = rates[2 * i + 1];
    fmt::print("| {} | {} | {:.1f} | {:.3f} | {:.3f} to {:.3f} | {:.1f} |\n", name, rows[i],
               layers.gflops(), layers.ratio(), layers.ratio(25), layers.ratio(75),
               cached.gflops());
  }
}

void print_products(const Plan& plan, const model::ModelConfig& config) {
  using ops::Accumulate, ops::Activation;
  const Index n = config.tokens, hidden = config.hidden, ffn = config.ffn;
  fmt::print(
      "The products of its blocks: with weights for every layer, and with one layer's in the "
      "cache\n\n"
      "| product | rows | GFLOP/s | of all rows | quarters | cached, GFLOP/s |\n"
      "|---|---:|---:|---:|---|---:|\n");
  print_product(plan, "query, output", {n, hidden, hidden}, {});
  print_product(plan, "K\\|V", {n, hidden, 2 * hidden}, {});
  print_product(plan, "feed-forward up, GELU", {n, hidden, ffn}, {Activation::gelu_erf});
  print_product(plan, "feed-forward down, residual", {n, ffn, hidden},
                {Activation::none, Accumulate::yes});
  fmt::print("\n");
}

bool run(const Plan& plan) {
  ops::set_threads(plan.threads);
  const ops::ThreadBinding binding(ops::allowed_cores());
  const model::ModelConfig config = model::preset(plan.model);
  const bool holds = print_shares(plan, Bench(config));
  print_products(plan, config);
  return holds;
}

}  // namespace
}  // namespace thinwire::micro

int main(int argc, char** argv) {
  const thinwire::micro::Plan plan{.model = argc == 4 ? argv[1] : "",
                                   .threads = argc == 4 ? std::atoi(argv[2]) : 0,
                                   .rounds = argc == 4 ? std::atoi(argv[3]) : 0};
  if (plan.threads < 1 || plan.rounds < 1) {
    fmt::print(stderr, "usage: thinwire_scaling MODEL THREADS ROUNDS\n");
    return 2;
  }
  try {
    return thinwire::micro::run(plan) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
