#include "figures.hpp"

#include <fmt/format.h>

#include <cmath>

#include "thinwire/base/json.hpp"
#include "thinwire/base/units.hpp"

namespace thinwire::cli {

std::string seconds(const Json& value) {
  return value.is_null() ? "-" : to_string(Seconds(value.get<double>()));
}

std::string bytes(const Json& value) {
  return value.is_null() ? "-" : to_string(Bytes(value.get<std::int64_t>()));
}

std::string bits(const Json& value) {
  if (value.is_null()) return "-";
  double amount = value.get<double>();
  const char* unit = "bit";
  for (const char* larger : {"kbit", "Mbit", "Gbit"}) {
    if (std::abs(amount) < 1000) break;
    amount /= 1000;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", amount, unit);
}

std::string rate(const Json& value) {
  if (value.is_null()) return "-";
  double amount = value.get<double>();
  const char* unit = "bit/s";
  for (const char* larger : {"kbps", "Mbps", "Gbps"}) {
    if (amount < 1000) break;
    amount /= 1000;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", amount, unit);
}

std::string joules(const Json& value) {
  if (value.is_null()) return "-";
  const double amount = value.get<double>();
  return amount < 1 ? fmt::format("{:.3g} mJ", 1000 * amount) : fmt::format("{:.3g} J", amount);
}

std::string link_name(const Json& link) {
  const auto rate_name = [](const Json& value) {
    return value.is_null() ? std::string("unlimited")
                           : to_string(Rate::bits_per_second(value.get<double>()));
  };
  std::string name;
  const Json& rates = link.at("rate_bit_per_s");
  if (link.contains("rate_trace"))
    name = fmt::format("{} (mean {})", link.at("rate_trace").at("file").get<std::string>(),
                       rate(rates));
  else if (rates.is_array())
    for (const Json& each : rates)
      name += fmt::format("{}{}", name.empty() ? "" : ":", rate_name(each));
  else
    name = rate_name(rates);
  const double latency_s = link.at("latency_s");
  if (latency_s > 0) name += fmt::format(", {}", to_string(Seconds(latency_s)));
  name += ", " + link.at("topology").get<std::string>();
  if (const std::string overhead = link.value("overhead", "none"); overhead != "none")
    name += ", " + overhead;
  if (link.contains("loss"))
    name += fmt::format(", loss {:g}%", 100 * link["loss"]["probability"].get<double>());
  return name;
}

std::string losses_line(const Json& record) {
  const Json& traffic = record.at("traffic");
  if (!traffic.contains("losses")) return "";
  const Json& losses = traffic.at("losses");
  const Json& rows = losses.at("lost_rows_fraction");
  return fmt::format("  losses      {} of {} packets lost, with {:.1f} % of the rows; on-loss {}\n",
                     losses.at("lost_packets").get<std::int64_t>(),
                     losses.at("packets").get<std::int64_t>(),
                     rows.is_null() ? 0.0 : 100 * rows.get<double>(),
                     record.at("spec").at("on-loss").get<std::string>());
}

}  // namespace thinwire::cli
