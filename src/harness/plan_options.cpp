#include <algorithm>
#include <array>

#include "plan_parts.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

constexpr std::array<std::string_view, 3> kObjectives = {"latency", "energy", "bits"};

/// What all strategies have in common.
constexpr std::array<std::string_view, 17> kOfAllStrategies = {
    "dtype",    "model",    "tokens",       "devices",    "threads",     "device-gflops",
    "slowness", "memory",   "device-power", "idle-power", "radio-power", "rate",
    "latency",  "topology", "overhead",     "loss",       "io"};

/// And what narrows the choice.
constexpr std::array<std::string_view, 15> kOfSome = {
    "strategy", "partition",        "segments",    "compression-rate", "scaling",
    "groups",   "index-bits",       "class-token", "codebook",         "codewords",
    "level",    "active-codewords", "buffers",     "overlap",          "payload"};

/// Options with a value a device.
constexpr std::array<std::string_view, 6> kPerDevice = {
    "device-gflops", "slowness", "memory", "device-power", "idle-power", "radio-power"};

const std::string* find_value(const KeyValues& given, std::string_view name) {
  const auto found = std::ranges::find(given, name, &KeyValues::value_type::first);
  return found == given.end() ? nullptr : &found->second;
}

/// How many devices there are, from --devices or from any list with a value a device.
int count_devices(const PlanRequest& request) {
  if (const std::string* devices = find_value(request.given, "devices")) {
    try {
      return static_cast<int>(parse_integer(*devices));
    } catch (const InputError&) {
      throw InputError(fmt::format(
          "--devices={}: a plan is about one number of devices (call it for each)", *devices));
    }
  }
  std::size_t most = request.profiles.size();
  for (const std::string_view name : kPerDevice)
    if (const std::string* values = find_value(request.given, name))
      most = std::max(most, split(*values, ',').size());
  require_input(most > 1,
                "--devices is needed: how many there are (or a value for each of them, such as "
                "--device-gflops=160,80)");
  return static_cast<int>(most);
}

std::string gflops_text(const PlanRequest& request, int devices) {
  std::vector<std::string> texts;
  for (int p = 0; p < devices; ++p) {
    const auto& profile = request.profiles[request.profiles.size() == 1 ? 0 : p];
    texts.push_back(exact_text(profile.rates.front().flops_per_s / 1e9));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

/// Of all profiles, if each of them knows it.
std::optional<std::string> memory_text(const PlanRequest& request) {
  std::vector<std::string> texts;
  for (const DeviceProfile& profile : request.profiles) {
    if (!profile.memory) return std::nullopt;
    texts.push_back(exact_text(*profile.memory));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

void check_profiles(const PlanRequest& request, int devices) {
  const auto count = static_cast<int>(request.profiles.size());
  require_input(count == 1 || count == devices,
                "--profile: {} profiles for {} devices (write one for all or one a device)", count,
                devices);
  require_input(find_value(request.given, "device-gflops") == nullptr,
                "--profile and --device-gflops: both say how fast the devices compute, give one");
}

/// What the profiles say and no option does.
void add_profiles(const PlanRequest& request, int devices, KeyValues& given) {
  check_profiles(request, devices);
  const auto add = [&](const std::string& name, const std::string& value) {
    if (find_value(given, name) == nullptr) given.emplace_back(name, value);
  };
  add("device-gflops", gflops_text(request, devices));
  if (const auto memory = memory_text(request)) add("memory", *memory);
  for (const auto& [name, value] : request.profiles.front().link) add(name, value);
}

}  // namespace

Objective parse_objective(std::string_view name) {
  return static_cast<Objective>(name_index("objective", name, kObjectives));
}

std::string_view to_string(Objective objective) {
  return kObjectives[static_cast<std::size_t>(objective)];
}

std::vector<std::string_view> plan_fields() {
  std::vector<std::string_view> names(kOfAllStrategies.begin(), kOfAllStrategies.end());
  names.insert(names.end(), kOfSome.begin(), kOfSome.end());
  return names;
}

KeyValues completed_options(const PlanRequest& request) {
  KeyValues given = request.given;
  const int devices = count_devices(request);
  if (find_value(given, "devices") == nullptr)
    given.emplace_back("devices", std::to_string(devices));
  if (!request.profiles.empty()) add_profiles(request, devices, given);
  require_input(find_value(given, "device-gflops") != nullptr,
                "--device-gflops (such as 160, or 160,80) or --profile is needed: how fast the "
                "devices compute");
  return given;
}

RunSpec base_spec(const KeyValues& given) {
  KeyValues options{{"strategy", "voltage"}};
  for (const auto& [name, value] : given)
    if (std::ranges::find(kOfAllStrategies, name) != kOfAllStrategies.end())
      options.emplace_back(name, value);
  RunSpec spec = make_run_spec(options);
  require_input(
      spec.links().size() == 1,
      "--rate, --latency, --topology: a plan is about one link, not {} (--rate-range says "
      "between which rates the choice is looked at)",
      spec.links().size());
  return spec;
}

DeviceRates device_rates(const PlanRequest& request, const RunSpec& base) {
  if (request.profiles.empty()) return fixed_rates(base);
  const std::string wanted = to_json(base).at("model");
  for (const DeviceProfile& profile : request.profiles) {
    require_input(profile.model == wanted,
                  "--profile: measured with model {}, whose rates are not those of {} (calibrate "
                  "--model {})",
                  profile.model, wanted, base.model);
    require_input(profile.dtype == base.dtype,
                  "--profile: measured in {}, whose rates are not those of --dtype={} (calibrate "
                  "--dtype {})",
                  to_string(profile.dtype), to_string(base.dtype), to_string(base.dtype));
  }
  std::vector<DeviceProfile> profiles = request.profiles;
  profiles.resize(static_cast<std::size_t>(base.devices), request.profiles.front());
  return rates_of(std::move(profiles));
}

}  // namespace thinwire::harness
