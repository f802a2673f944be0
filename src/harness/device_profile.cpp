#include "thinwire/harness/device_profile.hpp"

#include <algorithm>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/fabric/link.hpp"
#include "thinwire/harness/calibration.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

/// object.key, or null.
const Json& at_or_null(const Json& object, const char* key) {
  static const Json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

double positive_number(const Json& value, std::string_view what) {
  require_input(value.is_number() && value.get<double>() > 0, "{} is a number above 0, not {}",
                what, value.dump());
  return value.get<double>();
}

DeviceProfile::Rate rate_from_json(const Json& entry) {
  require_input(entry.is_object(), "an entry of gflops_by_rows has rows and gflops, not {}",
                entry.dump());
  const Json& rows = at_or_null(entry, "rows");
  require_input(rows.is_number_integer() && rows.get<Index>() >= 1,
                "rows of gflops_by_rows are whole numbers from 1, not {}", rows.dump());
  return {rows.get<Index>(), 1e9 * positive_number(at_or_null(entry, "gflops"), "gflops")};
}

std::vector<DeviceProfile::Rate> rates_from_json(const Json& list) {
  require_input(list.is_array() && !list.empty(),
                "device.gflops_by_rows is a list of at least one {{\"rows\", \"gflops\"}}");
  std::vector<DeviceProfile::Rate> rates;
  for (const Json& entry : list) rates.push_back(rate_from_json(entry));
  std::ranges::sort(rates, {}, &DeviceProfile::Rate::rows);
  const auto twice = std::ranges::adjacent_find(rates, {}, &DeviceProfile::Rate::rows);
  require_input(twice == rates.end(), "gflops_by_rows has {} rows twice",
                twice == rates.end() ? 0 : twice->rows);
  return rates;
}

KeyValues link_from_json(const Json& link) {
  if (link.is_null()) return {};
  require_input(link.is_object(), "link is an object or null, not {}", link.dump());
  KeyValues options;
  if (const Json& rate = at_or_null(link, "rate_bit_per_s"); !rate.is_null())
    options.emplace_back(
        "rate", exact_text(Rate::bits_per_second(positive_number(rate, "link.rate_bit_per_s"))));
  if (const Json& latency = at_or_null(link, "latency_s"); !latency.is_null()) {
    require_input(latency.is_number() && latency.get<double>() >= 0,
                  "link.latency_s is a number of seconds, not {}", latency.dump());
    options.emplace_back("latency", exact_text(Seconds(latency.get<double>())));
  }
  if (const Json& topology = at_or_null(link, "topology"); !topology.is_null()) {
    require_input(topology.is_string(), "link.topology is a name, not {}", topology.dump());
    fabric::parse_topology(topology.get<std::string>());
    options.emplace_back("topology", topology.get<std::string>());
  }
  if (const Json& overhead = at_or_null(link, "overhead"); !overhead.is_null()) {
    require_input(overhead.is_string(), "link.overhead is a text, not {}", overhead.dump());
    fabric::parse_overhead(overhead.get<std::string>());
    options.emplace_back("overhead", overhead.get<std::string>());
  }
  return options;
}

}  // namespace

double DeviceProfile::flops_per_s_at(Index rows) const {
  const auto above = std::ranges::lower_bound(rates, rows, {}, &Rate::rows);
  if (above == rates.begin()) return rates.front().flops_per_s;
  if (above == rates.end()) return rates.back().flops_per_s;
  const Rate& below = *std::prev(above);
  const double part =
      static_cast<double>(rows - below.rows) / static_cast<double>(above->rows - below.rows);
  return below.flops_per_s + part * (above->flops_per_s - below.flops_per_s);
}

DeviceProfile profile_from_json(const Json& document) {
  require_input(document.is_object() && document.value("schema", Json()) == kProfileSchema,
                "not a profile of `thinwire calibrate` (schema {})", kProfileSchema);
  const Json& device = at_or_null(document, "device");
  require_input(device.is_object(), "device is an object, not {}", device.dump());
  DeviceProfile profile;
  const Json& model = at_or_null(device, "model");
  require_input(model.is_string(), "device.model is a name, not {}", model.dump());
  profile.model = model.get<std::string>();
  if (const Json& dtype = at_or_null(device, "dtype"); !dtype.is_null()) {
    require_input(dtype.is_string(), "device.dtype is a name, not {}", dtype.dump());
    profile.dtype = parse_dtype(dtype.get<std::string>());
  }
  profile.rates = rates_from_json(at_or_null(device, "gflops_by_rows"));
  if (const Json& memory = at_or_null(device, "memory_bytes"); !memory.is_null()) {
    require_input(memory.is_number_integer() && memory.get<std::int64_t>() > 0,
                  "device.memory_bytes is a whole number above 0, not {}", memory.dump());
    profile.memory = Bytes(memory.get<std::int64_t>());
  }
  profile.link = link_from_json(at_or_null(document, "link"));
  return profile;
}

DeviceProfile read_profile(const std::filesystem::path& file) {
  const Json document = read_json(file);
  try {
    return profile_from_json(document);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

DeviceRates rates_of(std::vector<DeviceProfile> profiles) {
  return [profiles = std::move(profiles)](std::span<const Index> rows) {
    std::vector<double> rates;
    for (std::size_t p = 0; p < rows.size(); ++p)
      rates.push_back(profiles.at(p).flops_per_s_at(rows[p]));
    return rates;
  };
}

}  // namespace thinwire::harness
