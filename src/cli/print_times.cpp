#include "print_times.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "figures.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::cli {
namespace {

void print_latencies(const Json& links) {
  fmt::print("\n  {:<28} {:>12} {:>21} {:>11} {:>11} {:>11}\n", "link", "latency p50",
             "fastest .. slowest", "compute", "waiting", "hidden");
  for (const Json& link : links) {
    const Json& latency = link.at("latency_s");
    fmt::print("  {:<28} {:>12} {:>21} {:>11} {:>11} {:>11}\n", link_name(link.at("link")),
               seconds(latency.at("p50")),
               seconds(latency.at("min")) + " .. " + seconds(latency.at("max")),
               seconds(link.at("compute_s").at("p50")), seconds(link.at("wait_s").at("p50")),
               seconds(link.at("hidden_s").at("p50")));
  }
}

void print_terminal(const Json& time) {
  fmt::print("\n  {:<28} {:>12} {:>12}   (the terminal's part of the latency, p50)\n", "link",
             "distribution", "collection");
  for (std::size_t i = 0; i < time.at("links").size(); ++i)
    fmt::print("  {:<28} {:>12} {:>12}\n", link_name(time.at("links").at(i).at("link")),
               seconds(time.at("distribution_s").at(i).at("p50")),
               seconds(time.at("collection_s").at(i).at("p50")));
}

std::string percent(const Json& part) {
  return part.is_null() ? "-" : fmt::format("{:.1f} %", 100 * part.get<double>());
}

void print_pipeline(const Json& time) {
  fmt::print("\n  {:<28} {:>12} {:>12} {:>8}   (idle by the formula of equal steps: {})\n", "link",
             "first output", "inputs/s", "idle", percent(time.at("bubble_fraction")));
  for (const Json& link : time.at("links")) {
    const Json& throughput = link.at("throughput_per_s");
    const Json per_s = throughput.is_null() ? Json(nullptr) : throughput.at("p50");
    fmt::print("  {:<28} {:>12} {:>12} {:>8}\n", link_name(link.at("link")),
               seconds(link.at("first_output_s").at("p50")),
               per_s.is_null() ? "-" : fmt::format("{:.4g}", per_s.get<double>()),
               percent(link.at("idle_fraction").at("p50")));
  }
}

/// The first exchange, which has the shortest window, and one like all the others.
std::vector<Json> shown_exchanges(const Json& overlap) {
  std::vector<Json> shown{overlap.front()};
  if (overlap.size() > 1) shown.push_back(overlap.at(overlap.size() / 2));
  return shown;
}

void print_overlap(const Json& time) {
  fmt::print("\n  {:<28} {:>12} {:>12} {:>12} {:>17}\n", "overlap, by the formula", "exchange",
             "local work", "transfer", "hidden from");
  for (std::size_t i = 0; i < time.at("links").size(); ++i)
    for (const Json& exchange : shown_exchanges(time.at("overlap")))
      fmt::print("  {:<28} {:>12} {:>12} {:>12} {:>17}\n",
                 link_name(time.at("links").at(i).at("link")), exchange.at("exchange").get<int>(),
                 seconds(exchange.at("window_s")), seconds(exchange.at("transfer_s").at(i)),
                 rate(exchange.at("slowest_hidden_rate_bit_per_s").at(i)));
}

/// Where powers are stated.
void print_energy(const Json& links) {
  fmt::print("\n  {:<28} {:>12}   (of one inference; each device)\n", "link", "energy");
  for (const Json& link : links) {
    const Json& energy = link.at("energy");
    if (energy.is_null()) continue;
    std::string devices;
    for (const Json& device_j : energy.at("per_device_j"))
      devices += fmt::format("{}{}", devices.empty() ? "" : ", ", joules(device_j));
    fmt::print("  {:<28} {:>12}   ({})\n", link_name(link.at("link")), joules(energy.at("total_j")),
               devices);
  }
}

}  // namespace

void print_times(const Json& record) {
  const Json& time = record.at("time");
  const Json& links = time.at("links");
  if (links.empty() || links.at(0).at("latency_s").at("p50").is_null()) return;
  print_latencies(links);
  if (!time.at("distribution_s").is_null()) print_terminal(time);
  if (!time.at("bubble_fraction").is_null()) print_pipeline(time);
  if (!time.at("overlap").is_null()) print_overlap(time);
  if (links.at(0).contains("energy")) print_energy(links);
}

}  // namespace thinwire::cli
