#include "thinwire/harness/codebook_choice.hpp"

#include <algorithm>
#include <filesystem>

#include "thinwire/base/error.hpp"
#include "thinwire/compress/hierarchy.hpp"
#include "thinwire/compress/index_tables.hpp"
#include "thinwire/harness/auto_level.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/strategy_traits.hpp"

namespace thinwire::harness {
namespace {

constexpr Index kDefaultCodewords = 1024;

std::string list(std::span<const Index> values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

int finest(std::span<const Index> levels) {
  return static_cast<int>(levels.size()) - 1;
}

int level_of_size(const RunSpec& spec, std::span<const Index> levels) {
  const auto found = std::ranges::find(levels, *spec.active_codewords);
  require_input(found != levels.end(), "--active-codewords={}: the levels have {}",
                *spec.active_codewords, list(levels));
  return static_cast<int>(found - levels.begin());
}

/// The level that a spec means, among those of its codebook.
int choose_level(const RunSpec& spec, std::span<const Index> levels) {
  TW_REQUIRE(!spec.is_level_auto, "level=auto is not resolved");
  if (!spec.level) return spec.active_codewords ? level_of_size(spec, levels) : finest(levels);
  require_input(*spec.level >= 0 && *spec.level <= finest(levels),
                "--level={}: levels are counted from 0 (the coarsest) to {}, of {} codewords",
                *spec.level, finest(levels), list(levels));
  const Index size = levels[static_cast<std::size_t>(*spec.level)];
  require_input(!spec.active_codewords || *spec.active_codewords == size,
                "--level={} has {} codewords, --active-codewords={} is another level (give one)",
                *spec.level, size, spec.active_codewords.value_or(0));
  return *spec.level;
}

/// Levels that a controller chooses stay open; figures by formula are those of the finest.
void fill(RunSpec& spec, std::span<const Index> levels) {
  if (spec.level_control != strategy::LevelControl::fixed) {
    require_input(levels.size() > 1, "--level={}: the codebooks have one level of {} (write 0)",
                  strategy::to_string(spec.level_control), levels.back());
    spec.codewords = levels.back();
    return;
  }
  const int level = choose_level(spec, levels);
  spec.codewords = levels.back();
  spec.level = level;
  spec.active_codewords = levels[static_cast<std::size_t>(level)];
}

/// What a codebook is checked against; random ones fit every model.
std::string model_fingerprint(const RunSpec& spec, const model::ModelConfig& config,
                              FingerprintCache& fingerprints) {
  if (!model::is_preset(spec.model)) return folder_fingerprint(spec, fingerprints);
  return open_weights(spec, config)->fingerprint();
}

/// What an index of `exchange` is expected to take, mean over the groups.
double expected_bits(compress::CodebookSource& source, const compress::CodebookUse& use,
                     Index exchange, int level, compress::IndexCoding coding) {
  double sum = 0;
  for (Index group = 0; group < use.groups; ++group) {
    const compress::IndexTables tables(source.index_tables(exchange, group, level),
                                       source.levels()[static_cast<std::size_t>(level)],
                                       source.codewords(), {std::pmr::new_delete_resource()});
    sum += compress::index_cost(tables, coding).expected_bits;
  }
  return sum / static_cast<double>(use.groups);
}

/// Of all levels, as a CodebookSet holds them.
std::int64_t index_tables_bytes(compress::CodebookSource& source, const compress::CodebookUse& use,
                                Index layers) {
  const std::vector<Index> levels = source.levels();
  std::int64_t bytes = 0;
  for (Index exchange = use.codes(0) ? 0 : 1; exchange < layers; ++exchange)
    for (Index group = 0; group < use.groups; ++group)
      for (int level = 0; level < std::ssize(levels); ++level)
        bytes += compress::IndexTables(source.index_tables(exchange, group, level),
                                       levels[static_cast<std::size_t>(level)], source.codewords(),
                                       {std::pmr::new_delete_resource()})
                     .memory_bytes();
  return bytes;
}

void resolve_index_coding(RunSpec& spec, const model::ModelConfig& config,
                          const compress::CodebookUse& use, compress::CodebookSource& source) {
  using compress::IndexCoding;
  spec.expected_index_bits.clear();
  spec.index_tables_bytes = 0;
  if (spec.index_coding == IndexCoding::fixed) return;
  require_input(source.has_index_tables(),
                "--index-coding={}: {} has no tables for it (`thinwire codebook coding {}` adds "
                "them; `codebook train` writes them into new files)",
                compress::to_string(spec.index_coding), spec.codebook, spec.codebook);
  int level = finest(source.levels());  // also where a controller chooses: its bound
  if (!use.is_squared()) level = spec.level.value_or(level);
  for (Index exchange = 0; exchange < config.layers; ++exchange) {
    const IndexCoding coding =
        compress::coding_of(spec.index_coding, use, exchange, spec.has_terminal());
    const bool is_coded = use.codes(exchange) && coding != IndexCoding::fixed;
    spec.expected_index_bits.push_back(
        is_coded ? expected_bits(source, use, exchange, level, coding) : 0);
  }
  spec.index_tables_bytes = index_tables_bytes(source, use, config.layers);
}

/// Of all that a record depends on.
std::string fingerprint_of(const RunSpec& spec, const compress::CodebookSource& source,
                           FingerprintCache& fingerprints) {
  if (!spec.has_codebook_file()) return source.fingerprint();
  if (spec.index_coding == compress::IndexCoding::fixed)
    return fingerprints.get(spec.codebook, [&] { return source.fingerprint(); });
  return fingerprints.get(spec.codebook + " and its tables",
                          [&] { return source.fingerprint_with_tables(); });
}

}  // namespace

std::optional<compress::CodebookUse> codebook_use(const RunSpec& spec) {
  const StrategyTraits traits = traits_of(spec.strategy);
  std::optional<compress::CodebookUse> use = traits.codebooks;
  if (traits.has_groups()) use->groups = spec.groups;
  if (traits.has_buffers()) use->buffers = spec.buffers;
  return use;
}

std::unique_ptr<compress::CodebookSource> open_codebooks(const RunSpec& spec,
                                                         const compress::CodebookUse& use,
                                                         const model::ModelConfig& config,
                                                         const std::string& model_fingerprint) {
  if (spec.has_codebook_file())
    return compress::open_codebooks(spec.codebook, config, use, model_fingerprint);
  return compress::random_codebooks(config, use, spec.codewords.value_or(kDefaultCodewords),
                                    spec.seed);
}

void resolve_random_codebook(RunSpec& spec) {
  const std::optional<compress::CodebookUse> use = codebook_use(spec);
  if (spec.has_codebook_file() || !use || spec.is_level_auto) return;
  const Index codewords = spec.codewords.value_or(kDefaultCodewords);
  fill(spec,
       use->is_squared() ? std::vector<Index>{codewords} : compress::default_levels(codewords));
}

std::optional<CodebookChoice> resolve_codebook(RunSpec& spec, const model::ModelConfig& config,
                                               FingerprintCache& fingerprints) {
  const std::optional<compress::CodebookUse> use = codebook_use(spec);
  if (!use) return std::nullopt;
  const bool is_file = spec.has_codebook_file();
  const auto source = open_codebooks(spec, *use, config,
                                     is_file ? model_fingerprint(spec, config, fingerprints) : "");
  require_input(!spec.codewords || *spec.codewords == source->codewords(),
                "--codewords={}: the codebooks of {} have {} (leave --codewords away)",
                spec.codewords.value_or(0), spec.codebook, source->codewords());
  // ASTRA searches all codewords, however its codebook was made.
  const std::vector<Index> levels =
      use->is_squared() ? std::vector<Index>{source->codewords()} : source->levels();
  resolve_level(spec, config, levels);
  fill(spec, levels);
  resolve_index_coding(spec, config, *use, *source);
  return CodebookChoice{
      .source = is_file ? std::filesystem::path(spec.codebook).filename().string() : "random",
      .fingerprint = fingerprint_of(spec, *source, fingerprints),
      .levels = levels};
}

}  // namespace thinwire::harness
