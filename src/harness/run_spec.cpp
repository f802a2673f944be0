#include "thinwire/harness/run_spec.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

// ---- the value of a field from its text: one overload a type -------------------------------

void parse_value(std::string_view text, std::string& value) {
  value = text;
}

template <class Integer>
requires(std::is_integral_v<Integer> &&
         !std::is_same_v<Integer, bool>) void parse_value(std::string_view text, Integer& value) {
  const long long number = parse_integer(text);
  require_input(std::in_range<Integer>(number), "outside {} to {}",
                std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
  value = static_cast<Integer>(number);
}

void parse_value(std::string_view text, double& value) {
  value = parse_number(text);
}

void parse_value(std::string_view text, bool& value) {
  const bool is_on = text.empty() || text == "on" || text == "true";
  require_input(is_on || text == "off" || text == "false", "a switch is on or off");
  value = is_on;
}

void parse_value(std::string_view text, Seconds& value) {
  value = Seconds::parse(text);
}
void parse_value(std::string_view text, Bytes& value) {
  value = Bytes::parse(text);
}
void parse_value(std::string_view text, PartitionPolicy& value) {
  value = parse_partition_policy(text);
}
void parse_value(std::string_view text, Convention& value) {
  value = parse_convention(text);
}
void parse_value(std::string_view text, compress::Scaling& value) {
  value = compress::parse_scaling(text);
}
void parse_value(std::string_view text, fabric::Clock& value) {
  value = fabric::parse_clock(text);
}
void parse_value(std::string_view text, fabric::Topology& value) {
  value = fabric::parse_topology(text);
}

template <class T>
void parse_value(std::string_view text, std::optional<T>& value) {
  parse_value(text, value.emplace());
}

template <class T>
void parse_value(std::string_view text, std::vector<T>& values) {
  values.clear();
  for (const std::string& part : split(text, ',')) parse_value(part, values.emplace_back());
}

/// Link settings: each a rate, a rate a device ("10Mbps:1Mbps"), or a range of rates. Values
/// inside a range are rounded to whole bit/s, so that they can be written down.
void parse_value(std::string_view text, std::vector<std::vector<Rate>>& settings) {
  settings.clear();
  for (const std::string& part : split(text, ',')) {
    const auto range = parse_range(part);
    if (!range) {
      settings.push_back(fabric::parse_rates(part));
      continue;
    }
    require_input(range->spacing != Range::Spacing::step,
                  "a range of rates says how many (write {}..{}:log:10)", range->first,
                  range->last);
    const Rate first = Rate::parse(range->first), last = Rate::parse(range->last);
    require_input(!last.is_unlimited(), "a range of rates ends at a number, not at unlimited");
    for (const double value : range_values(*range, first.bit_per_s(), last.bit_per_s()))
      settings.push_back({Rate::bits_per_second(std::max(1.0, std::round(value)))});
    settings.back().front() = last;
  }
}

// ---- and back, for records ------------------------------------------------------------------

template <class T>
Json value_json(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(to_string(value));
  else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
    return value;
  else
    return exact_text(value);
}

template <class T>
Json value_json(const std::optional<T>& value) {
  return value ? value_json(*value) : Json(nullptr);
}

template <class T>
Json value_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(value_json(value));
  return list;
}

Json value_json(const std::vector<std::vector<Rate>>& settings) {
  Json list = Json::array();
  for (const std::vector<Rate>& rates : settings) {
    std::string text;
    for (const Rate rate : rates) {
      if (!text.empty()) text += ':';
      text += exact_text(rate);
    }
    list.push_back(std::move(text));
  }
  return list;
}

enum class Recorded { no, yes };

template <class Value>
Field make_field(std::string_view name, std::string_view argument, std::string_view help,
                 Value RunSpec::*member, Expansion expansion, Recorded recorded = Recorded::yes) {
  return {
      .name = name,
      .argument = argument,
      .help = help,
      .expansion = expansion,
      .is_recorded = recorded == Recorded::yes,
      .assign = [member](RunSpec& spec, std::string_view text) { parse_value(text, spec.*member); },
      .to_json = [member](const RunSpec& spec) { return value_json(spec.*member); }};
}

std::vector<Field> make_fields() {
  using enum Expansion;
  return {
      make_field("model", "NAME|FOLDER", "preset, or folder with config.json and model.safetensors",
                 &RunSpec::model, names),
      make_field("tokens", "N", "length of a text model's input (0: the model's own)",
                 &RunSpec::tokens, numbers),
      make_field("strategy", "NAME",
                 "how devices share the work, see `list`; without it several devices mean "
                 "voltage, or prism when segments are given",
                 &RunSpec::strategy, names),
      make_field("devices", "P", "number of devices, one MPI rank each", &RunSpec::devices,
                 numbers),
      make_field("threads", "T", "threads of each device", &RunSpec::threads, numbers),
      make_field("partition", "paper|balanced|weighted", "how tokens are split",
                 &RunSpec::partition, names),
      make_field("slowness", "X,...", "factor of compute time, for all or a device each",
                 &RunSpec::slowness, devices),
      make_field("device-gflops", "X,...", "GFLOP/s for modelled time, for all or a device each",
                 &RunSpec::device_gflops, devices),
      make_field("memory", "SIZE,...", "memory limit such as 512MB, for all or a device each",
                 &RunSpec::memory, devices),
      make_field("segments", "L", "prism: means that a device publishes", &RunSpec::segments,
                 numbers),
      make_field("compression-rate", "CR", "prism: L = floor(N / (CR P)) instead of segments",
                 &RunSpec::compression_rate, numbers),
      make_field("scaling", "on|off|duplicate", "prism: how a mean counts in the softmax",
                 &RunSpec::scaling, names),
      make_field("rate", "RATE,...",
                 "link settings such as 10Mbps, unlimited, 1Mbps..1000Mbps:log:10, or "
                 "10Mbps:10Mbps:1Mbps for a rate a device",
                 &RunSpec::rate, links),
      make_field("latency", "TIME,...", "latency of a message, such as 2ms", &RunSpec::latency,
                 links),
      make_field("topology", "broadcast|unicast|shared", "how messages share the medium",
                 &RunSpec::topology, links),
      make_field("clock", "emulated|modelled|throttled", "whose time is reported, see `list`",
                 &RunSpec::clock, names),
      make_field("convention", "paper|mac|full", "how operations become FLOPs",
                 &RunSpec::convention, names),
      make_field("input", "FILE", "JPEG, PNG or safetensors data (a random sample without it)",
                 &RunSpec::input, whole),
      make_field("sample", "I", "sample of the input file, from 0", &RunSpec::sample, numbers),
      make_field("outputs", "FILE", "write logits or embeddings to this safetensors file",
                 &RunSpec::outputs, whole, Recorded::no),
      make_field("hidden", "", "write hidden states to the outputs, too", &RunSpec::hidden, names,
                 Recorded::no),
      make_field("iterations", "N", "reported iterations", &RunSpec::iterations, numbers),
      make_field("warmup", "N", "iterations before the reported ones", &RunSpec::warmup, numbers),
      make_field("seed", "N", "of random weights and inputs", &RunSpec::seed, numbers),
      make_field("cold-weights", "", "empty the caches before each device's turn",
                 &RunSpec::cold_weights, names),
      make_field("timeout", "TIME", "end a run that makes no progress for so long (0: never)",
                 &RunSpec::timeout, whole),
      make_field("json", "FILE|-", "append the records to this file, or print them", &RunSpec::json,
                 whole, Recorded::no),
      make_field("trace", "FILE", "write a timeline for Perfetto", &RunSpec::trace, whole,
                 Recorded::no),
  };
}

// ---- filling a spec ---------------------------------------------------------------------------

/// Says which option and value an InputError is about. Parsers of `base` begin with
/// "rate=0Mbps is ..." themselves; that is not said twice.
[[noreturn]] void refuse(std::string_view name, std::string_view text, std::string_view reason) {
  const std::size_t equals = reason.find('=');
  const bool says_it = equals != std::string_view::npos && !text.empty() &&
                       reason.substr(equals + 1).starts_with(text) &&
                       reason.find(' ') == equals + 1 + text.size();
  if (says_it) throw InputError(fmt::format("--{}={}", name, reason.substr(equals + 1)));
  throw InputError(fmt::format("--{}={}: {}", name, text, reason));
}

void assign(const Field& field, RunSpec& spec, std::string_view text) {
  try {
    require_input(!text.empty() || field.argument.empty(), "a value is missing ({})",
                  field.argument);
    field.assign(spec, text);
  } catch (const InputError& error) {
    refuse(field.name, text, error.what());
  }
}

std::string base_name(const std::string& path) {
  std::filesystem::path clean = std::filesystem::path(path).lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();  // "models/minilm-l6/"
  return clean.filename().string();
}

template <class T>
std::vector<T> one_a_device(const std::vector<T>& values, int devices) {
  if (values.size() != 1) return values;
  return std::vector<T>(static_cast<std::size_t>(devices), values.front());
}

}  // namespace

std::vector<fabric::Link> RunSpec::links() const {
  std::vector<fabric::Link> settings;
  for (const fabric::Topology medium : topology)
    for (const Seconds delay : latency)
      for (const std::vector<Rate>& rates : rate)
        settings.push_back({.rates = rates, .latency = delay, .topology = medium});
  return settings;
}

std::vector<double> RunSpec::slowness_per_device() const {
  return one_a_device(slowness.empty() ? std::vector<double>{1.0} : slowness, devices);
}

std::vector<double> RunSpec::flops_per_s_per_device() const {
  std::vector<double> rates = one_a_device(device_gflops, devices);
  for (double& value : rates) value *= 1e9;
  return rates;
}

std::vector<Bytes> RunSpec::memory_per_device() const {
  return one_a_device(memory, devices);
}

std::vector<double> RunSpec::speed_per_device() const {
  const std::vector<double> factors = slowness_per_device();
  std::vector<double> speeds =
      one_a_device(device_gflops.empty() ? std::vector<double>{1.0} : device_gflops, devices);
  for (std::size_t p = 0; p < speeds.size(); ++p) speeds[p] /= factors[p];
  return speeds;
}

std::span<const Field> run_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

const Field& find_field(std::string_view name) {
  const std::span<const Field> fields = run_fields();
  const auto field = std::ranges::find(fields, name, &Field::name);
  if (field != fields.end()) return *field;
  std::vector<std::string_view> names;
  for (const Field& known : fields) names.push_back(known.name);
  throw InputError(fmt::format("unknown option '{}'{}", name, suggestion(name, names)));
}

RunSpec make_run_spec(const KeyValues& given) {
  RunSpec spec;
  for (const auto& [name, text] : given) assign(find_field(name), spec, text);
  const bool has_strategy = std::ranges::find(given, "strategy", [](const auto& pair) {
                              return std::string_view(pair.first);
                            }) != given.end();
  if (!has_strategy && spec.devices > 1)
    spec.strategy = spec.segments || spec.compression_rate ? "prism" : "voltage";
  check_options(spec);
  return spec;
}

KeyValues key_values(const Json& object) {
  require_input(object.is_object(), "an object of options is expected, not {}", object.dump());
  KeyValues pairs;
  for (const auto& [name, value] : object.items()) {
    find_field(name);  // an unknown name is more helpful than the fault of its value
    if (value.is_null()) continue;
    try {
      pairs.emplace_back(name, flag_text(value));
    } catch (const InputError& error) {
      throw InputError(fmt::format("--{}: {}", name, error.what()));
    }
  }
  return pairs;
}

RunSpec run_spec_from_json(const Json& object) {
  return make_run_spec(key_values(object));
}

Json to_json(const RunSpec& spec) {
  RunSpec completed = spec;
  completed.model = base_name(spec.model);
  completed.input = spec.input.empty() ? "" : base_name(spec.input);
  completed.slowness = spec.slowness_per_device();
  completed.device_gflops = one_a_device(spec.device_gflops, spec.devices);
  completed.memory = spec.memory_per_device();
  Json object = Json::object();
  for (const Field& field : run_fields()) {
    if (!field.is_recorded) continue;
    Json value = field.to_json(completed);
    const bool is_absent = (value.is_string() && value.get<std::string>().empty()) ||
                           (value.is_array() && value.empty());
    object[std::string(field.name)] = is_absent ? Json(nullptr) : std::move(value);
  }
  return object;
}

std::string spec_id(const RunSpec& spec, std::string_view source, std::string_view fingerprint) {
  Json object = to_json(spec);
  object.erase("timeout");
  std::string text = fmt::format("{} {}", source, object.dump());
  if (!model::is_preset(spec.model)) text += fmt::format(" {}", fingerprint);
  return to_hex(fnv1a(text));
}

}  // namespace thinwire::harness
