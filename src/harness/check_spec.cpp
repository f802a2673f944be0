#include "thinwire/harness/check_spec.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "check_strategy.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/spec_text.hpp"
#include "thinwire/harness/strategy_traits.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {
namespace {

void check_names(const RunSpec& spec) {
  name_index("--strategy", spec.strategy, strategy::strategy_names());
  std::error_code ignored;
  const std::span<const std::string_view> presets = model::preset_names();
  require_input(model::is_preset(spec.model) || std::filesystem::is_directory(spec.model, ignored),
                "--model={}: neither a folder nor a preset{}; presets: {}", spec.model,
                suggestion(spec.model, presets), join(presets, ", "));
}

// Far beyond what is of use, and far below what exhausts a machine before any work is done.
constexpr int kMaxThreads = 1024, kMaxDevices = 10'000;
constexpr Index kMaxTokens = 1'000'000;

void check_counts(const RunSpec& spec) {
  require_input(spec.devices >= 1, "--devices={}: at least one device is needed", spec.devices);
  require_input(spec.devices <= kMaxDevices, "--devices={}: at most {}", spec.devices, kMaxDevices);
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
  check_per_device(spec.device_power, spec, "device-power", "a device's power");
  check_per_device(spec.idle_power, spec, "idle-power", "a device's power");
  check_per_device(spec.radio_power, spec, "radio-power", "a device's power");
  require_input(!spec.device_power.empty() || (spec.idle_power.empty() && spec.radio_power.empty()),
                "--idle-power and --radio-power: --device-power, of computing, is needed too");
  const bool is_auto = spec.partition == PartitionPolicy::automatic || spec.is_level_auto;
  require_input(!is_auto || spec.devices == 1 || !spec.device_gflops.empty(),
                "--{}=auto: --device-gflops (such as 160, as --clock=modelled) is needed to "
                "foresee the latency",
                spec.is_level_auto ? "level" : "partition");
}

void check_links(const RunSpec& spec) {
  require_input(!spec.rate.empty() && !spec.latency.empty() && !spec.topology.empty(),
                "--rate, --latency and --topology each need a value");
  for (const std::vector<Rate>& rates : spec.rate)
    require_input(rates.size() == 1 || std::ssize(rates) == spec.devices,
                  "--rate={}: {} rates for --devices={} (write one for all or one a device)",
                  fabric::rates_to_string(rates), rates.size(), spec.devices);
}

void check_traces(const RunSpec& spec) {
  if (spec.rate_trace.empty()) return;
  require_input(spec.rate == RunSpec{}.rate,
                "--rate and --rate-trace: both say how fast the link is, give one");
  require_input(spec.clock != fabric::Clock::native,
                "--rate-trace with --clock=native: the network is as it is (write throttled, or "
                "emulated)");
}

void check_loss(const RunSpec& spec) {
  if (spec.loss == 0) return;
  if (spec.loss_policy() == fabric::OnLoss::retransmit) {
    require_input(!fabric::is_wall_clock(spec.clock),
                  "--loss={} with --clock={}: real time sends no packet again (write "
                  "--clock=emulated, or --on-loss=skip or reuse)",
                  spec.loss, to_string(spec.clock));
    return;
  }
  require_input(traits_of(spec.strategy).splits_tokens,
                "--on-loss={} with --strategy={}: only strategies that split the tokens can do "
                "without a message (write retransmit)",
                to_string(spec.on_loss), spec.strategy);
  require_input(!spec.has_terminal(),
                "--on-loss={} with --io=terminal: what a terminal sends must arrive (write "
                "retransmit, or --io=replicated)",
                to_string(spec.on_loss));
  require_input(spec.scaling != compress::Scaling::duplicate,
                "--on-loss={} with --scaling=duplicate: repeated rows are not told apart from "
                "means (write --scaling=on)",
                to_string(spec.on_loss));
}

void check_data(const RunSpec& spec) {
  const bool has_data = !spec.data.empty();
  require_input(has_data || (!spec.samples && spec.metric.empty()),
                "--samples and --metric: of the file of --data, which is not given");
  if (!has_data) return;
  require_input(!spec.has_terminal(),
                "--io=terminal with --data={}: a terminal changes no answer (leave it away)",
                spec.data);
  require_input(spec.input.empty() && spec.outputs.empty() && spec.trace.empty(),
                "--data={} with --input, --outputs or --trace: those are of `run`, one sample",
                spec.data);
}

/// Each setting has an execution of its own where what is sent depends on it.
void check_one_link(const RunSpec& spec) {
  const std::size_t links = spec.links().size();
  require_input(!spec.depends_on_link() || links == 1,
                "--level={} with {} link settings: what is sent depends on the link (write one "
                "--rate, --latency and --topology, or use sweep)",
                strategy::to_string(spec.level_control), links);
}

void check_clock(const RunSpec& spec) {
  if (spec.clock == fabric::Clock::modelled)
    require_input(!spec.device_gflops.empty(),
                  "--clock=modelled: --device-gflops (such as 160) is needed to model time");
  if (!fabric::is_wall_clock(spec.clock)) return;
  const std::size_t links = spec.links().size();
  require_input(links == 1,
                "--clock={} with {} link settings: real time has one (write one --rate or "
                "--rate-trace, --latency and --topology, or use sweep)",
                to_string(spec.clock), links);
  require_input(std::ranges::all_of(spec.slowness, [](double factor) { return factor == 1; }),
                "--slowness with --clock={}: real time cannot be stretched", to_string(spec.clock));
}

void check_model(const RunSpec& spec, const model::ModelConfig& config) {
  check_strategy_options(spec, config);
  if (spec.tokens == 0) return;
  require_input(config.is_text() || spec.tokens == config.tokens,
                "--tokens={}: {} always has {} (only text models vary)", spec.tokens, config.name,
                config.tokens);
  require_input(spec.tokens <= config.max_tokens || model::is_preset(spec.model),
                "--tokens={}: {} has positions for {}", spec.tokens, config.name,
                config.max_tokens);
}

std::optional<std::string> memory_misfit(const RunSpec& spec, const model::ModelConfig& config,
                                         Index tokens) {
  if (spec.memory.empty()) return std::nullopt;
  const std::vector<Bytes> limits = spec.memory_per_device();
  const cost::Prediction prediction = cost::predict(to_workload(spec, config, tokens));
  for (std::size_t device = 0; device < limits.size(); ++device) {
    const auto& [weights, codebooks, buffers, activations] = prediction.memory[device];
    const std::int64_t lacking =
        weights + codebooks + buffers + activations - limits[device].count();
    if (lacking <= 0) continue;
    return fmt::format(
        "--memory={}: device {} needs {} more ({} of weights, {} of codebooks, {} of buffers, {} "
        "of activations)",
        exact_text(limits[device]), device, to_string(Bytes(lacking)), to_string(Bytes(weights)),
        to_string(Bytes(codebooks)), to_string(Bytes(buffers)), to_string(Bytes(activations)));
  }
  return std::nullopt;
}

}  // namespace

void check_options(const RunSpec& spec, const model::ModelConfig* config) {
  check_names(spec);
  check_counts(spec);
  check_strategy_options(spec);
  check_devices(spec);
  check_links(spec);
  check_traces(spec);
  check_clock(spec);
  check_one_link(spec);
  check_loss(spec);
  check_data(spec);
  if (config != nullptr) check_model(spec, *config);
}

Index default_tokens(const RunSpec& spec, const model::ModelConfig& config) {
  return spec.tokens != 0 ? spec.tokens : config.tokens;
}

std::optional<std::string> misfit(const RunSpec& spec, const model::ModelConfig& config,
                                  Index tokens) {
  if (auto reason = strategy_misfit(spec, config, tokens)) return reason;
  return memory_misfit(spec, config, tokens);
}

void check(const RunSpec& spec, const model::ModelConfig* config) {
  check_options(spec, config);
  // A text file's samples have lengths of their own.
  if (config == nullptr || (config->is_text() && !spec.input.empty())) return;
  if (const auto reason = misfit(spec, *config, default_tokens(spec, *config)))
    throw InputError(*reason);
}

void require_cpu(const RunSpec& spec) {
  require_input(spec.dtype == DType::fp32 || ops::has_fast_bf16(),
                "--dtype={}: this CPU has no AVX-512 BF16 instructions, or oneDNN is told not to "
                "use them (fp32 runs everywhere)",
                to_string(spec.dtype));
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
          .dtype = spec.dtype,
          .partition = spec.partition,
          .weights = spec.partition_weights(),
          .segments = segments_for(spec, tokens),
          .scaling = spec.scaling,
          .payload = spec.payload,
          .overlap = spec.overlap,
          .codewords = spec.codewords.value_or(0),
          .active_codewords = spec.active_codewords.value_or(0),
          .groups = spec.groups,
          .index_bits = spec.index_bits,
          .index_coding = spec.index_coding,
          .expected_index_bits = spec.expected_index_bits,
          .index_tables_bytes = spec.index_tables_bytes,
          .replicates_class_token = spec.class_token == strategy::ClassToken::replicated,
          .buffers = spec.buffers,
          .micro_batches = spec.micro_batches,
          .has_terminal = spec.has_terminal(),
          .on_loss = spec.loss_policy(),
          .collects_all = spec.collect == strategy::Collect::all};
}

}  // namespace thinwire::harness
