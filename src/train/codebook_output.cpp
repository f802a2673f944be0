#include "thinwire/train/codebook_output.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "thinwire/compress/codebook_writer.hpp"

namespace thinwire::train {
namespace {

std::vector<Index> levels_of(const OutputOptions& output, Index codewords) {
  return output.levels.empty() ? compress::default_levels(codewords) : output.levels;
}

/// The moving hits as whole numbers, fine enough to tell rarely used codewords apart.
std::vector<std::int64_t> usage_of(const CodebookState& state) {
  constexpr double kResolution = 1000;
  std::vector<std::int64_t> usage;
  for (const float hits : state.usage.view().elements())
    usage.push_back(std::llround(kResolution * double{hits}));
  return usage;
}

void add_exchange(compress::CodebookWriter& writer, const Trainer& trainer, Index exchange,
                  const OutputOptions& output) {
  const compress::CodebookUse& use = trainer.use();
  for (Index group = 0; group < use.groups; ++group)
    writer.add_codewords(use, exchange, group, trainer.state(exchange, group).codewords.view());
  if (use.is_squared()) return;
  const CodebookState& state = trainer.state(exchange, 0);
  writer.add_hierarchy(
      use, exchange,
      compress::build_hierarchy(state.codewords.view(), levels_of(output, trainer.codewords()),
                                output.hierarchy, usage_of(state)));
}

}  // namespace

void check(const OutputOptions& output, const TrainingOptions& training) {
  const std::vector<Index>& levels = output.levels;
  if (levels.empty()) return;
  const bool ascends =
      std::ranges::adjacent_find(levels, std::ranges::greater_equal{}) == levels.end();
  require_input(levels.front() >= 2 && ascends && levels.back() == training.codewords,
                "--levels={}: sizes ascend from 2 or more to the {} codewords",
                fmt::join(levels, ","), training.codewords);
  const bool is_flat = codebook_use(training.setting, training.groups).is_squared();
  require_input(!is_flat || levels.size() == 1,
                "--levels={} with --strategy={}: its codebooks have one level (leave --levels "
                "away)",
                fmt::join(levels, ","), training.setting.strategy);
}

void write_codebooks(const Trainer& trainer, const OutputOptions& output,
                     const std::map<std::string, std::string>& more,
                     const std::filesystem::path& file) {
  TW_REQUIRE(trainer.is_done(), "{} of {} steps are done", trainer.steps_done(), trainer.steps());
  compress::CodebookWriter writer;
  for (Index exchange = 0; exchange < trainer.layers(); ++exchange)
    if (trainer.use().codes(exchange)) add_exchange(writer, trainer, exchange, output);
  if (!trainer.use().is_squared()) {
    writer.add_levels(levels_of(output, trainer.codewords()));
    writer.add_metadata("hierarchy", std::string(compress::to_string(output.hierarchy)));
  }
  for (const auto& [key, value] : trainer.settings())
    if (key == "model_fingerprint")
      writer.set_model_fingerprint(value);
    else
      writer.add_metadata(key, value);
  writer.add_metadata("tokens", std::to_string(trainer.rows_seen()));
  for (const auto& [key, value] : more) writer.add_metadata(key, value);
  writer.write(file);
}

}  // namespace thinwire::train
