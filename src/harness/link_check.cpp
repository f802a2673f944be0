#include "thinwire/harness/link_check.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>

#include "given_options.hpp"
#include "record_parts.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/watchdog.hpp"
#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/payload_sizes.hpp"
#include "thinwire/harness/placement.hpp"

namespace thinwire::harness {
namespace {

/// Devices and iterations tell their bytes apart.
std::byte pattern(int device, int iteration) {
  return static_cast<std::byte>(31 * device + iteration + 1);
}

void require_delivered(const fabric::Delivery& delivery, int devices, int iteration,
                       std::int64_t bytes) {
  for (int device = 0; device < devices; ++device) {
    const std::span<const std::byte> arrived = delivery.from(device);
    const bool is_right =
        std::ssize(arrived) == bytes &&
        std::ranges::all_of(arrived, [&](std::byte b) { return b == pattern(device, iteration); });
    TW_REQUIRE(is_right, "{} bytes from device {} arrived wrong", bytes, device);
  }
}

/// What one all-gather took on this device.
double time_once(fabric::Fabric& fabric, std::span<std::byte> mine, std::span<std::byte> all,
                 int iteration) {
  std::ranges::fill(mine, pattern(fabric.device(), iteration));
  fabric.begin_iteration();
  const fabric::Delivery delivery = fabric.wait(fabric.all_gather({mine}, all));
  const fabric::LinkTimes times = fabric.end_iteration().links.front();
  require_delivered(delivery, fabric.devices(), iteration, std::ssize(mine));
  return times.compute_s + times.wait_s;
}

/// [iteration] of the device that ended last in each.
std::vector<double> latest_of_all(fabric::Transport& transport, const std::vector<double>& own_s) {
  std::vector<double> latest_s(own_s.size(), 0);
  for (const auto& bytes : fabric::gather_all(transport, std::as_bytes(std::span(own_s)))) {
    const auto* times_s = reinterpret_cast<const double*>(bytes.data());
    for (std::size_t i = 0; i < latest_s.size(); ++i)
      latest_s[i] = std::max(latest_s[i], times_s[i]);
  }
  return latest_s;
}

void check_setting(const LinkSetting& setting, std::span<const std::int64_t> sizes) {
  require_input(setting.devices >= 2, "--devices={}: a link joins at least two", setting.devices);
  const std::int64_t largest = std::ranges::max(sizes);
  require_input(largest <= INT_MAX / setting.devices,
                "--sizes: {} from each of --devices={} are more than MPI carries at once (at most "
                "{})",
                to_string(Bytes(largest)), setting.devices,
                to_string(Bytes(INT_MAX / setting.devices)));
}

/// There is no compute, whose time is all that the modelled clock differs in.
void refuse_modelled_clock(const KeyValues& fields) {
  for (const auto& [name, value] : fields)
    require_input(name != "clock" || value != "modelled",
                  "--clock=modelled: nothing is computed here (write emulated, which has the same "
                  "link)");
}

}  // namespace

double LinkTiming::error() const {
  return formula_s > 0 ? measured_s.p50 / formula_s - 1 : std::numeric_limits<double>::quiet_NaN();
}

double all_gather_formula_s(const fabric::Link& link, int devices, std::int64_t bytes) {
  fabric::LinkModel model(link, devices);
  const auto count = static_cast<std::size_t>(devices);
  std::vector<double> arrival_s(count);
  model.all_gather(std::vector<double>(count), std::vector<std::int64_t>(count, bytes), arrival_s);
  return std::ranges::max(arrival_s);
}

std::vector<LinkTiming> time_all_gathers(fabric::Transport& transport, const LinkSetting& setting,
                                         std::span<const std::int64_t> sizes,
                                         fabric::Watchdog* watchdog,
                                         const std::function<void(double)>& on_progress) {
  const auto fabric = fabric::make_fabric(
      transport, {.clock = setting.clock, .links = {setting.link}, .watchdog = watchdog});
  const auto largest = static_cast<std::size_t>(std::ranges::max(sizes));
  std::vector<std::byte> mine(largest);
  std::vector<std::byte> all(largest * static_cast<std::size_t>(setting.devices));

  const bool is_contended =
      fabric::is_wall_clock(setting.clock) &&
      harness::is_contended(placements(transport, setting.devices, 1, setting.clock), 1);
  // Sizes take turns, so that a machine that is busy for a while is so for all.
  const int rounds = setting.warmup + setting.iterations;
  const double total = static_cast<double>(rounds) * static_cast<double>(sizes.size());
  double done = 0;
  std::vector<std::vector<double>> own_s(sizes.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto payload = std::span(mine).first(static_cast<std::size_t>(sizes[i]));
      const double took_s = time_once(*fabric, payload, all, round);
      if (round >= setting.warmup) own_s[i].push_back(took_s);
      on_progress(++done / total);
    }
  std::vector<LinkTiming> timings;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    timings.push_back({sizes[i], all_gather_formula_s(setting.link, setting.devices, sizes[i]),
                       summarize(latest_of_all(transport, own_s[i])), is_contended});
  return timings;
}

std::vector<LinkTiming> check_link(Session& session, const LinkSetting& setting,
                                   std::span<const std::int64_t> sizes,
                                   const std::function<void(double)>& on_progress) {
  std::vector<LinkTiming> timings;
  if (const auto transport = session.first_ranks(setting.devices)) {
    fabric::Watchdog watchdog(setting.timeout,
                              [&](const std::string& what) { session.end_stuck(what); });
    timings = time_all_gathers(*transport, setting, sizes, &watchdog, on_progress);
  }
  session.everyone().meet();  // ranks without a part have slept here
  if (!session.is_root()) timings.clear();
  return timings;
}

int LinkCheck::ranks() const {
  return std::ranges::max(settings, {}, &LinkSetting::devices).devices;
}

LinkCheck make_link_check(const KeyValues& fields, const std::map<std::string, std::string>& own) {
  refuse_modelled_clock(fields);
  LinkCheck check;
  check.sizes = parse_payload_sizes(kDefaultSizes);
  GivenOptions(own).with("sizes",
                         [&](std::string_view text) { check.sizes = parse_payload_sizes(text); });
  for (const RunSpec& spec : expand(fields))
    for (const fabric::Link& link : spec.links()) {
      check.settings.push_back({.devices = spec.devices,
                                .link = link,
                                .clock = spec.clock,
                                .iterations = spec.iterations,
                                .warmup = spec.warmup,
                                .timeout = spec.timeout});
      check_setting(check.settings.back(), check.sizes);
      check.json = spec.json;
    }
  return check;
}

Json to_json(const LinkSetting& setting, const LinkTiming& timing, const Json& environment) {
  return {{"schema", kLinkCheckSchema},
          {"devices", setting.devices},
          {"bytes", timing.bytes},
          {"link", link_json(setting.link)},
          {"clock", fabric::to_string(setting.clock)},
          {"warmup", setting.warmup},
          {"formula_s", timing.formula_s},
          {"measured_s", to_json(timing.measured_s)},
          {"error", finite_or_null(timing.error())},
          {"contended", timing.is_contended},
          {"environment", environment}};
}

}  // namespace thinwire::harness
