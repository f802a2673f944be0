#include "thinwire/train/calibration_run.hpp"

#include <algorithm>

#include "thinwire/base/named.hpp"
#include "thinwire/fabric/local_devices.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::train {
namespace {

std::vector<Index> lengths_of(std::span<const model::ModelInput> inputs,
                              const model::ModelConfig& config) {
  std::vector<Index> lengths;
  for (const model::ModelInput& input : inputs)
    if (const Index tokens = input.tokens(config);
        std::ranges::find(lengths, tokens) == lengths.end())
      lengths.push_back(tokens);
  return lengths;
}

}  // namespace

void RowObserver::begin(const model::ModelInput& input, Slice own) {
  input_ = &input;
  own_ = own;
}

void RowObserver::on_quantised(Index exchange, MatrixView<const float> rows,
                               std::span<const std::int32_t> indices) {
  TW_REQUIRE(rows.rows() == own_.size, "{} rows quantised of {}", rows.rows(), own_.size);
  const std::size_t groups = indices.size() / static_cast<std::size_t>(rows.rows());
  for (Index r = 0; r < rows.rows(); ++r)
    if (input_->is_real(own_.begin + r))
      on_row(exchange, rows.row(r), indices.subspan(static_cast<std::size_t>(r) * groups, groups));
}

void run_calibration(const model::Model& model, const CalibrationSetting& setting,
                     const compress::CodebookSet& codebooks, int level,
                     std::span<const model::ModelInput> inputs,
                     std::span<CalibrationObserver* const> observers,
                     const std::function<void()>& on_input) {
  if (inputs.empty()) return;
  const std::vector<Index> lengths = lengths_of(inputs, model.config());
  strategy::StrategyOptions options;
  options.codebooks = &codebooks;
  options.level = level;
  fabric::on_local_devices(setting.devices, [&](fabric::Transport& transport) {
    ops::set_threads(setting.threads);
    const auto device = static_cast<std::size_t>(transport.rank());
    const auto runner =
        strategy::make_strategy(setting.strategy, model, options,
                                {transport.rank(), setting.devices, setting.threads, lengths});
    const auto fabric = fabric::make_fabric(transport, {});
    for (const model::ModelInput& input : inputs) {
      const Index tokens = input.tokens(model.config());
      observers[device]->begin(
          input, partition(tokens, setting.devices, options.partition, options.weights)[device]);
      fabric->begin_iteration();
      runner->forward(input, *fabric, observers[device]);
      fabric->end_iteration();
      if (device == 0 && on_input) on_input();
    }
  });
}

compress::CodebookUse codebook_use(const CalibrationSetting& setting, Index groups) {
  const strategy::StrategyEntry& entry =
      find_named("strategy", setting.strategy, strategy::strategies());
  require_input(entry.codebooks.has_value(),
                "--strategy={}: has no codebooks (astra and the trace strategies have)",
                setting.strategy);
  require_input(setting.devices >= 2,
                "--devices={}: at least two are needed, one publishes nothing to be coded",
                setting.devices);
  require_input(groups == 1 || entry.codebooks->is_squared(),
                "--groups={} with --strategy={}: only astra codes rows in groups", groups,
                setting.strategy);
  compress::CodebookUse use = *entry.codebooks;
  use.groups = groups;
  return use;
}

}  // namespace thinwire::train
