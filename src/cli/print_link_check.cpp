#include "print_link_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "figures.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/units.hpp"

namespace thinwire::cli {
namespace {

double p10(const Json& summary) {
  auto samples = summary.at("samples").get<std::vector<double>>();
  std::ranges::sort(samples);
  return harness::percentile(samples, 10);
}

std::string percent(const Json& error) {
  return error.is_null() ? "-" : fmt::format("{:+.2f} %", 100 * error.get<double>());
}

void print_heading(const Json& record) {
  const std::size_t samples = record.at("measured_s").at("samples").size();
  fmt::print("{} on {} devices; {} clock, {} iteration{} a size\n", link_name(record.at("link")),
             record.at("devices").get<int>(), record.at("clock").get<std::string>(), samples,
             samples == 1 ? "" : "s");
  if (record.at("contended").get<bool>())
    fmt::print("  contended: the devices have too few cores to run at once, times are too long\n");
}

}  // namespace

void print_link_check(const Json& records, const std::optional<harness::LinkFit>& fit) {
  print_heading(records.front());
  fmt::print("  {:>10} {:>10} {:>10} {:>10} {:>10} {:>11}\n", "payload", "formula", "median", "p10",
             "p90", "difference");
  for (const Json& record : records) {
    const Json& measured = record.at("measured_s");
    fmt::print("  {:>10} {:>10} {:>10} {:>10} {:>10} {:>11}\n", bytes(record.at("bytes")),
               seconds(record.at("formula_s")), seconds(measured.at("p50")), seconds(p10(measured)),
               seconds(measured.at("p90")), percent(record.at("error")));
  }
  fmt::print("  fit: {}\n\n", fit_text(fit));
}

std::string fit_text(const std::optional<harness::LinkFit>& fit) {
  if (!fit) return "none (it takes two sizes that need time, and one rate for all devices)";
  const std::string rate_text =
      fit->rate.is_unlimited() ? "unlimited" : rate(fit->rate.bit_per_s());
  return fmt::format("{}, latency {} (median error {:.2f} %)", rate_text, to_string(fit->latency),
                     100 * fit->median_error);
}

}  // namespace thinwire::cli
