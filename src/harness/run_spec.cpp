#include "thinwire/harness/run_spec.hpp"

#include <algorithm>
#include <filesystem>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/codebook_choice.hpp"
#include "thinwire/harness/spec_text.hpp"
#include "thinwire/harness/strategy_traits.hpp"

namespace thinwire::harness {
namespace {

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

/// What a spec leaves open, as it is.
RunSpec complete(RunSpec spec) {
  const StrategyTraits traits = traits_of(spec.strategy);
  spec.model = base_name(spec.model);
  if (!spec.input.empty()) spec.input = base_name(spec.input);
  if (!spec.data.empty()) spec.data = base_name(spec.data);
  if (traits.has_codebooks())
    spec.codebook = spec.has_codebook_file() ? base_name(spec.codebook) : "random";
  if (!spec.overlap) spec.overlap = traits.overlaps;
  spec.slowness = spec.slowness_per_device();
  spec.device_gflops = one_a_device(spec.device_gflops, spec.devices);
  spec.memory = spec.memory_per_device();
  for (std::vector<double>* powers : {&spec.device_power, &spec.idle_power, &spec.radio_power})
    *powers = one_a_device(*powers, spec.devices);
  return spec;
}

/// Options whose values say nothing about this spec.
std::vector<std::string_view> without_meaning(const RunSpec& spec) {
  const StrategyTraits traits = traits_of(spec.strategy);
  std::vector<std::string_view> names;
  const auto unless = [&](bool has_meaning, std::initializer_list<std::string_view> more) {
    if (!has_meaning) names.insert(names.end(), more);
  };
  unless(traits.has_groups(), {"groups", "index-bits", "class-token"});
  unless(traits.has_codebooks(), {"index-coding"});
  unless(traits.has_buffers(), {"buffers"});
  unless(traits.splits_tokens, {"overlap"});
  unless(spec.strategy == "pipeline", {"micro-batches"});
  unless(spec.has_terminal(), {"collect"});
  unless(spec.rate_trace.empty(), {"rate"});
  unless(spec.loss > 0, {"on-loss"});
  return names;
}

}  // namespace

std::vector<fabric::Link> RunSpec::links() const {
  std::vector<fabric::Link> settings;
  const auto add = [&](fabric::Link link, Seconds delay, fabric::Topology medium) {
    link.latency = delay;
    link.topology = medium;
    link.overhead = overhead;
    if (loss > 0) link.loss = {.probability = loss, .policy = on_loss, .seed = seed};
    settings.push_back(std::move(link));
  };
  for (const fabric::Topology medium : topology)
    for (const Seconds delay : latency) {
      for (const fabric::RateTrace& changing : rate_trace) add(link_of(changing), delay, medium);
      for (const std::vector<Rate>& rates : rate)
        if (rate_trace.empty()) add({.rates = rates}, delay, medium);
    }
  return settings;
}

fabric::OnLoss RunSpec::loss_policy() const {
  return loss > 0 ? on_loss : fabric::OnLoss::retransmit;
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

std::vector<double> RunSpec::partition_weights() const {
  if (partition == PartitionPolicy::automatic && !rows.empty()) return {rows.begin(), rows.end()};
  const bool has_weights =
      partition == PartitionPolicy::weighted || partition == PartitionPolicy::automatic;
  return has_weights ? speed_per_device() : std::vector<double>{};
}

std::vector<cost::Powers> RunSpec::powers_per_device() const {
  if (device_power.empty()) return {};
  const auto watts = [&](const std::vector<double>& values) {
    return one_a_device(values.empty() ? std::vector<double>{0} : values, devices);
  };
  const std::vector<double> compute = watts(device_power), idle = watts(idle_power),
                            radio = watts(radio_power);
  std::vector<cost::Powers> powers;
  for (std::size_t p = 0; p < compute.size(); ++p)
    powers.push_back({compute[p], idle[p], radio[p]});
  return powers;
}

RunSpec fill_run_spec(const KeyValues& given) {
  RunSpec spec;
  for (const auto& [name, text] : given) assign(find_field(name), spec, text);
  const bool has_strategy = std::ranges::find(given, "strategy", [](const auto& pair) {
                              return std::string_view(pair.first);
                            }) != given.end();
  if (!has_strategy && spec.devices > 1)
    spec.strategy = spec.segments || spec.compression_rate ? "prism" : "voltage";
  return spec;
}

RunSpec make_run_spec(const KeyValues& given) {
  RunSpec spec = fill_run_spec(given);
  check_options(spec);
  resolve_random_codebook(spec);
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
  const RunSpec completed = complete(spec);
  Json object = Json::object();
  for (const Field& field : run_fields()) {
    if (!field.is_recorded || (field.is_of_data && spec.data.empty())) continue;
    Json value = field.to_json(completed);
    if (!field.is_recorded_by_default && value == field.to_json(RunSpec{})) continue;
    const bool is_absent = (value.is_string() && value.get<std::string>().empty()) ||
                           (value.is_array() && value.empty());
    object[std::string(field.name)] = is_absent ? Json(nullptr) : std::move(value);
  }
  for (const std::string_view name : without_meaning(spec)) object[std::string(name)] = nullptr;
  return object;
}

std::string spec_id(const RunSpec& spec, std::string_view source,
                    const Fingerprints& fingerprints) {
  const Json defaults = to_json(RunSpec{.strategy = spec.strategy, .devices = spec.devices});
  Json object = to_json(spec);
  object.erase("timeout");
  for (const Field& field : run_fields()) {
    const std::string name(field.name);
    if (field.is_recorded && !field.is_in_id_by_default && object.contains(name) &&
        object[name] == defaults.value(name, Json()))
      object.erase(name);
  }
  std::string text = fmt::format("{} {}", source, object.dump());
  if (!model::is_preset(spec.model)) text += fmt::format(" {}", fingerprints.model);
  if (spec.has_codebook_file()) text += fmt::format(" codebook {}", fingerprints.codebook);
  if (!spec.data.empty()) text += fmt::format(" data {}", fingerprints.data);
  for (const fabric::RateTrace& trace : spec.rate_trace)
    text += fmt::format(" rate-trace {}", trace.fingerprint());
  return to_hex(fnv1a(text));
}

}  // namespace thinwire::harness
