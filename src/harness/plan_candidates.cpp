#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "plan_parts.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/codebook_choice.hpp"
#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/strategy_traits.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {
namespace {

// What is compared where no option says it: the papers' range of compression rates, and numbers of
// groups up to those that ASTRA needs for its accuracy.
constexpr const char* kCompressionRates = "2,3,4,6,8,10";
constexpr std::array<Index, 3> kGroups = {1, 4, 16};

/// Options that only some strategies understand.
bool concerns(std::string_view option, std::string_view name, const StrategyTraits& traits) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> options) {
    return std::ranges::find(options, option) != options.end();
  };
  if (is_one_of({"segments", "compression-rate", "scaling"})) return name == "prism";
  if (option == "payload") return sends_rows(name);
  if (is_one_of({"groups", "index-bits", "class-token"})) return traits.has_groups();
  if (is_one_of({"level", "active-codewords"}))
    return traits.has_codebooks() && !traits.has_groups();
  if (is_one_of({"codebook", "codewords"})) return traits.has_codebooks();
  if (option == "buffers") return traits.has_buffers();
  if (option == "overlap") return traits.splits_tokens;
  return option != "strategy";
}

bool has(const KeyValues& options, std::string_view name) {
  return std::ranges::find(options, name, &KeyValues::value_type::first) != options.end();
}

void set(KeyValues& options, const std::string& name, const std::string& value) {
  const auto found = std::ranges::find(options, name, &KeyValues::value_type::first);
  if (found != options.end())
    found->second = value;
  else
    options.emplace_back(name, value);
}

/// Groups that divide the width of the model's rows.
std::string default_groups(const model::ModelConfig& config) {
  std::vector<Index> groups;
  std::ranges::copy_if(kGroups, std::back_inserter(groups),
                       [&](Index count) { return config.hidden % count == 0; });
  return fmt::format("{}", fmt::join(groups, ","));
}

/// Every level of the strategy's codebook.
std::string all_levels(const KeyValues& options, const model::ModelConfig& config,
                       FingerprintCache& fingerprints) {
  RunSpec spec = make_run_spec(options);
  return fmt::format("0..{}", resolve_codebook(spec, config, fingerprints)->levels.size() - 1);
}

/// The options of a strategy with lists of what is open.
KeyValues options_for(std::string_view name, const KeyValues& given,
                      const model::ModelConfig& config, FingerprintCache& fingerprints) {
  const StrategyTraits traits = traits_of(name);
  KeyValues options{{"strategy", std::string(name)}};
  for (const auto& [option, value] : given)
    if (concerns(option, name, traits)) options.emplace_back(option, value);
  if (traits.splits_tokens && !has(options, "partition")) set(options, "partition", "auto");
  if (name == "prism" && !has(options, "segments") && !has(options, "compression-rate"))
    set(options, "compression-rate", kCompressionRates);
  if (traits.has_groups() && !has(options, "groups"))
    set(options, "groups", default_groups(config));
  const bool has_levels = traits.has_codebooks() && !traits.has_groups();
  if (has_levels && !has(options, "level") && !has(options, "active-codewords"))
    set(options, "level", all_levels(options, config, fingerprints));
  return options;
}

/// The device that is done first with all `tokens`.
std::size_t fastest_device(const RunSpec& base, const DeviceRates& rates, Index tokens) {
  std::vector<double> speeds =
      rates(std::vector<Index>(static_cast<std::size_t>(base.devices), tokens));
  const std::vector<double> slowness = base.slowness_per_device();
  for (std::size_t p = 0; p < speeds.size(); ++p) speeds[p] /= slowness[p];
  return static_cast<std::size_t>(std::ranges::max_element(speeds) - speeds.begin());
}

/// Of values with one a device the one of `device`.
std::string value_of(const std::string& name, const std::string& values, std::size_t device) {
  const bool is_per_device = find_field(name).expansion == Expansion::devices;
  if (!is_per_device && name != "rate") return values;
  const std::vector<std::string> each = split(values, is_per_device ? ',' : ':');
  return each.size() == 1 ? values : each.at(device);
}

/// What tells a candidate apart from others: what is not given for all.
KeyValues distinction(const RunSpec& spec) {
  KeyValues options{{"strategy", spec.strategy}};
  const auto add = [&](const char* name, const auto& value) {
    if (value) options.emplace_back(name, fmt::format("{}", *value));
  };
  const StrategyTraits traits = traits_of(spec.strategy);
  add("segments", spec.segments);
  if (!spec.sends_rows_exactly())
    options.emplace_back("payload", compress::to_string(spec.payload));
  if (traits.has_groups()) options.emplace_back("groups", fmt::format("{}", spec.groups));
  if (traits.has_codebooks() && !traits.has_groups()) add("level", spec.level);
  return options;
}

class Collector {
 public:
  Collector(const KeyValues& given, const RunSpec& base, const DeviceRates& rates,
            const model::ModelConfig& config)
      : given_(given), base_(base), rates_(rates), config_(config) {}

  void add_strategy(std::string_view name) {
    try {
      if (name == "single")
        add_single();
      else
        for (const RunSpec& spec : expand(options_for(name, given_, config_, fingerprints_)))
          add(spec);
    } catch (const InputError& error) {
      refuse(name, error.what());
    }
  }
  std::vector<Candidate> take() && { return std::move(candidates_); }

 private:
  void add_single() {
    const std::size_t device = fastest_device(base_, rates_, default_tokens(base_, config_));
    KeyValues options;
    for (const auto& [option, value] : options_for("single", given_, config_, fingerprints_))
      options.emplace_back(option, value_of(option, value, device));
    set(options, "devices", "1");
    set(options, "partition", "paper");
    add(make_run_spec(options));
    Candidate& candidate = candidates_.back();
    candidate.entry.device = static_cast<int>(device);
    const auto devices = static_cast<std::size_t>(base_.devices);
    candidate.rates = [rates = rates_, devices, device](std::span<const Index> rows) {
      const std::vector<Index> everywhere(devices, rows.front());
      return std::vector<double>{rates(everywhere).at(device)};
    };
  }

  void add(RunSpec spec) {
    const Index tokens = default_tokens(spec, config_);
    resolve_codebook(spec, config_, fingerprints_);
    if (spec.compression_rate) {
      spec.segments = segments_for(spec, tokens);
      spec.compression_rate.reset();
      // Several rates may mean the same number of segments.
      if (!segments_.insert({spec.partition, spec.payload, *spec.segments}).second) return;
    }
    Candidate candidate{.rates = rates_};
    candidate.entry.options = distinction(spec);
    candidate.entry.is_exact = traits_of(spec.strategy).is_exact && spec.sends_rows_exactly();
    candidate.entry.spec = std::move(spec);
    candidates_.push_back(std::move(candidate));
  }

  void refuse(std::string_view name, const std::string& reason) {
    Candidate candidate{.rates = rates_};
    candidate.entry.spec.strategy = std::string(name);
    candidate.entry.options = {{"strategy", std::string(name)}};
    candidate.entry.is_exact = traits_of(name).is_exact;
    candidate.entry.excluded = reason;
    candidates_.push_back(std::move(candidate));
  }

  const KeyValues& given_;
  const RunSpec& base_;
  const DeviceRates& rates_;
  const model::ModelConfig& config_;
  FingerprintCache fingerprints_;
  std::set<std::tuple<PartitionPolicy, compress::RowFormat, Index>> segments_;
  std::vector<Candidate> candidates_;
};

std::vector<std::string> wanted_strategies(const KeyValues& given) {
  const auto found = std::ranges::find(given, "strategy", &KeyValues::value_type::first);
  std::vector<std::string> names;
  if (found != given.end()) names = split(found->second, ',');
  for (const std::string& name : names) traits_of(name);  // throws for an unknown one
  if (names.empty())
    for (const std::string_view name : strategy::strategy_names()) names.emplace_back(name);
  return names;
}

}  // namespace

std::vector<Candidate> make_candidates(const KeyValues& given, const RunSpec& base,
                                       const DeviceRates& rates, const model::ModelConfig& config) {
  Collector collector(given, base, rates, config);
  for (const std::string& name : wanted_strategies(given)) collector.add_strategy(name);
  return std::move(collector).take();
}

}  // namespace thinwire::harness
