// Passes of tiny models for an instruction counter to count: of one device alone, and of the second
// of three devices under every strategy, with what its peers sent played back. Everything happens
// on one thread and is the same in every run.
//
//   valgrind --tool=callgrind --instr-atstart=no counted_passes PASSES [WASTED]
//
// leaves one dump a case and prints what the program was built from as JSON.
// WASTED instructions a pass are a made regression, for the test that it is found.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "counting.hpp"
#include "replay_transport.hpp"
#include "thinwire/base/compiler.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/local_devices.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::instructions {
namespace {

constexpr int kDevices = 3, kDevice = 1;  // one with peers before and behind it

/// Heads, rows and columns that no vector width divides evenly occur in all of them.
model::ModelConfig tiny(model::Family family) {
  model::ModelConfig config{.name = "tiny",
                            .family = family,
                            .tokens = 50,
                            .max_tokens = 64,
                            .hidden = 120,
                            .layers = 3,
                            .heads = 5,
                            .ffn = 480};
  if (family == model::Family::vit) {
    config.image_size = 28;
    config.patch = 4;
    config.labels = 10;
  } else {
    config.vocabulary = 211;
  }
  if (family == model::Family::bert) {
    config.token_types = 2;
    config.labels = 2;
    config.head = model::HeadKind::pooler;
  }
  if (family == model::Family::gpt2) {
    config.gelu = model::Gelu::tanh;
    config.head = model::HeadKind::language_model;
  }
  return config;
}

struct Bench {
  model::Model model;
  model::ModelInput input;

  explicit Bench(const model::ModelConfig& config)
      : model(config, *model::random_weights(config, 0), {std::pmr::new_delete_resource()}),
        input(model::random_input(config, config.tokens, 0)) {}
};

void run_once(strategy::Strategy& strategy, const model::ModelInput& input,
              fabric::Fabric& fabric) {
  fabric.begin_iteration();
  strategy.forward(input, fabric);
  fabric.end_iteration();
}

/// One strategy on one model, with the codebooks that it needs.
class Case {
 public:
  Case(const Bench& bench, const strategy::StrategyEntry& entry, int devices)
      : bench_(bench), name_(entry.name), devices_(devices) {
    options_.segments = entry.name == "prism" ? 4 : 0;
    if (!entry.codebooks) return;
    const auto& config = bench.model.config();
    constexpr Index kCodewords = 64;
    codebooks_.emplace(bench.model, *entry.codebooks,
                       *compress::random_codebooks(config, *entry.codebooks, kCodewords, 0),
                       model::WeightPlace{std::pmr::new_delete_resource()});
    options_.codebooks = &*codebooks_;
  }

  /// Lets passes of one device be counted, under `name`.
  void count(const std::string& name, const Plan& plan) const {
    validation::Tape tape;
    if (devices_ > 1) record(tape);
    const int device = devices_ > 1 ? kDevice : 0;
    validation::ReplayTransport replay(device, devices_, tape);
    const auto fabric = fabric::make_fabric(replay, {});
    const auto strategy = make(device);
    instructions::count(name, plan, [&] {
      replay.rewind();
      run_once(*strategy, bench_.input, *fabric);
    });
  }

 private:
  std::unique_ptr<strategy::Strategy> make(int device) const {
    return strategy::make_strategy(
        name_, bench_.model, options_,
        {.device = device, .devices = devices_, .lengths = {bench_.model.config().tokens}});
  }

  void record(validation::Tape& tape) const {
    fabric::on_local_devices(devices_, [&](fabric::Transport& transport) {
      ops::set_threads(1);
      validation::Tape others;
      validation::RecordingTransport recording(transport,
                                               transport.rank() == kDevice ? tape : others);
      const auto fabric = fabric::make_fabric(recording, {});
      run_once(*make(transport.rank()), bench_.input, *fabric);
    });
  }

  const Bench& bench_;
  std::string_view name_;
  int devices_;
  strategy::StrategyOptions options_;
  std::optional<compress::CodebookSet> codebooks_;
};

void count_passes(const Plan& plan) {
  const auto count = [&](const Bench& bench, const strategy::StrategyEntry& entry,
                         std::string_view family) {
    const int devices = entry.name == "single" ? 1 : kDevices;
    Case(bench, entry, devices).count(fmt::format("{}, {}", family, entry.name), plan);
  };
  const Bench vit(tiny(model::Family::vit)), bert(tiny(model::Family::bert)),
      gpt2(tiny(model::Family::gpt2));
  for (const strategy::StrategyEntry& entry : strategy::strategies()) {
    count(vit, entry, "vit");
    if (entry.name == "single") count(bert, entry, "bert");
    if (entry.name == "single" || entry.name == "prism") count(gpt2, entry, "gpt2");
  }
}

}  // namespace
}  // namespace thinwire::instructions

int main(int argc, char** argv) {
  const bool is_called_right = argc == 2 || argc == 3;
  const thinwire::instructions::Plan plan{.passes = is_called_right ? std::atoi(argv[1]) : 0,
                                          .wasted = argc == 3 ? std::atoi(argv[2]) : 0};
  if (plan.passes < 1) {
    fmt::print(stderr, "usage: counted_passes PASSES [WASTED]\n");
    return 2;
  }
  thinwire::ops::set_threads(1);
  thinwire::instructions::count_passes(plan);
  thinwire::instructions::count_coding(plan);
  std::cout << thinwire::Json{{"compiler", thinwire::compiler()},
                              {"onednn", thinwire::ops::onednn_version()},
                              {"flags", THINWIRE_COUNTED_FLAGS}}
            << "\n";
}
