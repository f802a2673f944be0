#include "thinwire/harness/check_spec.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/spec_text.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {
namespace {

void check_names(const RunSpec& spec) {
  const std::vector<std::string_view> strategies = strategy::strategy_names();
  require_input(std::ranges::find(strategies, spec.strategy) != strategies.end(),
                "--strategy={}: unknown{}; known: {}", spec.strategy,
                suggestion(spec.strategy, strategies), join(strategies, ", "));
  std::error_code ignored;
  const std::span<const std::string_view> presets = model::preset_names();
  require_input(model::is_preset(spec.model) || std::filesystem::is_directory(spec.model, ignored),
                "--model={}: neither a folder nor a preset{}; presets: {}", spec.model,
                suggestion(spec.model, presets), join(presets, ", "));
}

// Far beyond what is of use, and far below what exhausts a machine before any work is done.
constexpr int kMaxThreads = 1024;
constexpr Index kMaxTokens = 1'000'000;

void check_counts(const RunSpec& spec) {
  require_input(spec.devices >= 1, "--devices={}: at least one device is needed", spec.devices);
  require_input(spec.threads >= 1, "--threads={}: a device computes with at least one thread",
                spec.threads);
  require_input(spec.threads <= kMaxThreads, "--threads={}: a device has at most {}", spec.threads,
                kMaxThreads);
  require_input(spec.iterations >= 1, "--iterations={}: at least one is needed to report a time",
                spec.iterations);
  require_input(spec.warmup >= 0, "--warmup={}: 0 or more iterations can precede the reported ones",
                spec.warmup);
  require_input(spec.sample >= 0, "--sample={}: samples of a file are counted from 0", spec.sample);
  require_input(spec.sample == 0 || !spec.input.empty(),
                "--sample={}: a sample of the file of --input, which is not given", spec.sample);
  require_input(spec.tokens >= 0, "--tokens={}: a length, or 0 for the model's own", spec.tokens);
  require_input(spec.tokens <= kMaxTokens, "--tokens={}: at most {}", spec.tokens, kMaxTokens);
  require_input(!spec.hidden || !spec.outputs.empty(),
                "--hidden=on: hidden states go into the file of --outputs, which is not given");
}

void check_segments(const RunSpec& spec) {
  const bool is_prism = spec.strategy == "prism";
  if (spec.segments)
    require_input(*spec.segments >= 1,
                  "--segments={}: a device publishes at least one mean (write 1 or more)",
                  *spec.segments);
  if (spec.compression_rate)
    require_input(*spec.compression_rate >= 1,
                  "--compression-rate={}: nothing is smaller than before (write 1 or more)",
                  *spec.compression_rate);
  require_input(!spec.segments || !spec.compression_rate,
                "--segments={} and --compression-rate={}: one follows from the other, give one",
                spec.segments.value_or(0), spec.compression_rate.value_or(0));
  const std::string_view given = spec.segments ? "--segments" : "--compression-rate";
  if (spec.segments || spec.compression_rate)
    require_input(is_prism, "{} with --strategy={}: only prism has segments", given, spec.strategy);
  else
    require_input(!is_prism,
                  "--strategy=prism: --segments (such as 10) or --compression-rate is needed");
  require_input(spec.scaling == compress::Scaling::on || is_prism,
                "--scaling={} with --strategy={}: only prism scales its means",
                compress::to_string(spec.scaling), spec.strategy);
}

template <class T>
void check_per_device(const std::vector<T>& values, const RunSpec& spec, std::string_view name,
                      std::string_view what) {
  require_input(values.size() <= 1 || std::ssize(values) == spec.devices,
                "--{}: {} values for --devices={} (write one for all or one a device)", name,
                values.size(), spec.devices);
  for (const T& value : values)
    require_input(T{} < value, "--{}={}: {} must be above 0", name, exact_text(value), what);
}

void check_devices(const RunSpec& spec) {
  require_input(spec.strategy != "single" || spec.devices == 1,
                "--strategy=single with --devices={}: one device works alone (write 1, or another "
                "strategy)",
                spec.devices);
  check_per_device(spec.slowness, spec, "slowness", "a factor of compute time");
  check_per_device(spec.device_gflops, spec, "device-gflops", "a device's rate");
  check_per_device(spec.memory, spec, "memory", "a device's memory");
}

void check_links(const RunSpec& spec) {
  require_input(!spec.rate.empty() && !spec.latency.empty() && !spec.topology.empty(),
                "--rate, --latency and --topology each need a value");
  for (const std::vector<Rate>& rates : spec.rate)
    require_input(rates.size() == 1 || std::ssize(rates) == spec.devices,
                  "--rate={}: {} rates for --devices={} (write one for all or one a device)",
                  fabric::rates_to_string(rates), rates.size(), spec.devices);
}

void check_clock(const RunSpec& spec) {
  if (spec.clock == fabric::Clock::modelled)
    require_input(!spec.device_gflops.empty(),
                  "--clock=modelled: --device-gflops (such as 160) is needed to model time");
  if (spec.clock != fabric::Clock::throttled) return;
  const std::size_t links = spec.links().size();
  require_input(links == 1,
                "--clock=throttled with {} link settings: real time has one (write one --rate, "
                "--latency and --topology, or use sweep)",
                links);
  require_input(std::ranges::all_of(spec.slowness, [](double factor) { return factor == 1; }),
                "--slowness with --clock=throttled: real time cannot be stretched");
}

void check_model(const RunSpec& spec, const model::ModelConfig& config) {
  if (spec.tokens == 0) return;
  require_input(config.is_text() || spec.tokens == config.tokens,
                "--tokens={}: {} always has {} (only text models vary)", spec.tokens, config.name,
                config.tokens);
  require_input(spec.tokens <= config.max_tokens || model::is_preset(spec.model),
                "--tokens={}: {} has positions for {}", spec.tokens, config.name,
                config.max_tokens);
}

std::optional<std::string> segments_misfit(const RunSpec& spec, Index tokens) {
  const Index segments = segments_for(spec, tokens);
  const std::vector<double> weights =
      spec.partition == PartitionPolicy::weighted ? spec.speed_per_device() : std::vector<double>{};
  const std::vector<Slice> slices = partition(tokens, spec.devices, spec.partition, weights);
  const auto smallest = std::ranges::min_element(slices, {}, &Slice::size);
  if (segments <= smallest->size) return std::nullopt;
  const std::string given = spec.segments ? fmt::format("--segments={}", segments)
                                          : fmt::format("--compression-rate={} ({} segments)",
                                                        *spec.compression_rate, segments);
  return fmt::format("{}: device {} has {} of {} tokens, and a segment needs one (at most {})",
                     given, smallest - slices.begin(), smallest->size, tokens, smallest->size);
}

std::optional<std::string> memory_misfit(const RunSpec& spec, const model::ModelConfig& config,
                                         Index tokens) {
  if (spec.memory.empty()) return std::nullopt;
  const std::vector<Bytes> limits = spec.memory_per_device();
  const cost::Prediction prediction = cost::predict(to_workload(spec, config, tokens));
  for (std::size_t device = 0; device < limits.size(); ++device) {
    const auto& [weights, buffers, activations] = prediction.memory[device];
    const std::int64_t lacking = weights + buffers + activations - limits[device].count();
    if (lacking <= 0) continue;
    return fmt::format(
        "--memory={}: device {} needs {} more ({} of weights, {} of buffers, {} of activations)",
        exact_text(limits[device]), device, to_string(Bytes(lacking)), to_string(Bytes(weights)),
        to_string(Bytes(buffers)), to_string(Bytes(activations)));
  }
  return std::nullopt;
}

}  // namespace

void check_options(const RunSpec& spec, const model::ModelConfig* config) {
  check_names(spec);
  check_counts(spec);
  check_segments(spec);
  check_devices(spec);
  check_links(spec);
  check_clock(spec);
  if (config != nullptr) check_model(spec, *config);
}

Index default_tokens(const RunSpec& spec, const model::ModelConfig& config) {
  return spec.tokens != 0 ? spec.tokens : config.tokens;
}

std::optional<std::string> misfit(const RunSpec& spec, const model::ModelConfig& config,
                                  Index tokens) {
  if (spec.devices > tokens)
    return fmt::format("--devices={}: {} tokens cannot be split over more than {} devices",
                       spec.devices, tokens, tokens);
  if (spec.segments || spec.compression_rate)
    if (auto reason = segments_misfit(spec, tokens)) return reason;
  return memory_misfit(spec, config, tokens);
}

void check(const RunSpec& spec, const model::ModelConfig* config) {
  check_options(spec, config);
  // A text file's samples have lengths of their own.
  if (config == nullptr || (config->is_text() && !spec.input.empty())) return;
  if (const auto reason = misfit(spec, *config, default_tokens(spec, *config)))
    throw InputError(*reason);
}

Index segments_for(const RunSpec& spec, Index tokens) {
  if (spec.segments) return *spec.segments;
  if (!spec.compression_rate) return 0;
  return compress::segments_for_rate(tokens, spec.devices, *spec.compression_rate);
}

cost::Workload to_workload(const RunSpec& spec, const model::ModelConfig& config, Index tokens) {
  return {.model = config,
          .tokens = tokens,
          .strategy = spec.strategy,
          .devices = spec.devices,
          .threads = spec.threads,
          .partition = spec.partition,
          .weights = spec.partition == PartitionPolicy::weighted ? spec.speed_per_device()
                                                                 : std::vector<double>{},
          .segments = segments_for(spec, tokens),
          .scaling = spec.scaling};
}

}  // namespace thinwire::harness
