#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "record_parts.hpp"
#include "thinwire/cost/modelled_time.hpp"
#include "thinwire/harness/statistics.hpp"

namespace thinwire::harness {
namespace {

using Members = std::vector<fabric::LinkTimes>;  // devices, then the terminal if there is one
using Iterations = std::vector<Members>;
using Figure = double (*)(const fabric::LinkTimes&);

double latency_of(const fabric::LinkTimes& t) {
  return t.compute_s + t.wait_s;
}

/// Of the whole iteration: its last member's end.
double latency_of(const Members& members) {
  return latency_of(*std::ranges::max_element(
      members, {}, [](const fabric::LinkTimes& t) { return latency_of(t); }));
}

constexpr std::pair<const char*, Figure> kFigures[] = {
    {"latency_s", [](const fabric::LinkTimes& t) { return latency_of(t); }},
    {"compute_s", [](const fabric::LinkTimes& t) { return t.compute_s; }},
    {"wait_s", [](const fabric::LinkTimes& t) { return t.wait_s; }},
    {"hidden_s", [](const fabric::LinkTimes& t) { return t.hidden_s; }},
    {"skew_s", [](const fabric::LinkTimes& t) { return t.skew_s; }}};

/// Adds a summary of every figure, of the device that `choose` takes from each iteration.
template <class Choose>
void add_figures(Json& object, const Iterations& iterations, Choose choose) {
  for (const auto& [name, figure] : kFigures) {
    std::vector<double> samples;
    for (const Members& members : iterations) samples.push_back(figure(choose(members)));
    object[name] = to_json(summarize(std::move(samples)));
  }
}

Json member_times(const Iterations& iterations, std::size_t member) {
  Json object = Json::object();
  add_figures(object, iterations,
              [member](const Members& all) -> const fabric::LinkTimes& { return all.at(member); });
  return object;
}

/// A figure of whole iterations, one sample each.
template <class Figure>
Json summary_of(const Iterations& iterations, Figure figure) {
  std::vector<double> samples;
  for (const Members& members : iterations) samples.push_back(figure(members));
  return to_json(summarize(std::move(samples)));
}

Json link_times(const Iterations& iterations, const RunSpec& spec) {
  Json object = Json::object();
  add_figures(object, iterations, [](const Members& members) -> const fabric::LinkTimes& {
    return *std::ranges::max_element(members, {},
                                     [](const fabric::LinkTimes& t) { return latency_of(t); });
  });
  const std::size_t members = iterations.empty() ? 0 : iterations.front().size();
  const auto devices = static_cast<std::size_t>(spec.devices);
  object["per_device"] = Json::array();
  for (std::size_t p = 0; p < std::min(members, devices); ++p)
    object["per_device"].push_back(member_times(iterations, p));
  object["terminal"] = members > devices ? member_times(iterations, devices) : Json(nullptr);
  return object;
}

double milestone_of(const fabric::LinkTimes& times, fabric::Milestone milestone) {
  return times.milestone_s.at(static_cast<std::size_t>(milestone));
}

/// When the last member passed it; NaN when none did.
double latest(const Members& members, fabric::Milestone milestone) {
  double latest_s = fabric::LinkTimes::kNever;
  for (const fabric::LinkTimes& member : members)
    latest_s = std::fmax(latest_s, milestone_of(member, milestone));  // fmax passes over NaN
  return latest_s;
}

/// The answer to the first of several inputs; one input is answered when the iteration ends.
double first_output_s(const Members& members) {
  const double passed_s = latest(members, fabric::Milestone::first_output);
  return std::isnan(passed_s) ? latency_of(members) : passed_s;
}

/// Of the device time until the iteration ends, the part in which no device computes.
double idle_fraction(const Members& members, std::size_t devices) {
  double compute_s = 0;
  for (std::size_t p = 0; p < devices; ++p) compute_s += members.at(p).compute_s;
  return 1 - compute_s / (static_cast<double>(devices) * latency_of(members));
}

/// Null for strategies other than a pipeline.
void add_pipeline_figures(Json& object, const Iterations& iterations, const RunSpec& spec) {
  const bool is_pipeline = spec.strategy == "pipeline";
  const bool is_steady = is_pipeline && spec.micro_batches > 1;
  const auto devices = static_cast<std::size_t>(spec.devices);
  const double later_inputs = spec.micro_batches - 1;
  object["first_output_s"] = is_pipeline ? summary_of(iterations, first_output_s) : Json(nullptr);
  object["throughput_per_s"] =
      is_steady ? summary_of(iterations,
                             [&](const Members& all) {
                               return later_inputs / (latency_of(all) - first_output_s(all));
                             })
                : Json(nullptr);
  object["idle_fraction"] =
      is_pipeline
          ? summary_of(iterations, [&](const Members& all) { return idle_fraction(all, devices); })
          : Json(nullptr);
}

/// The pipeline's fill and drain in steps of equal length: (P - 1) / (M + P - 1).
Json bubble_fraction(const RunSpec& spec) {
  if (spec.strategy != "pipeline") return nullptr;
  const double idle_steps = spec.devices - 1;
  return idle_steps / (spec.micro_batches + idle_steps);
}

/// One summary a link, of iterations with a terminal; null without.
template <class Figure>
Json terminal_figure(const Result& result, Figure figure) {
  if (!result.spec.has_terminal()) return nullptr;
  Json list = Json::array();
  for (std::size_t i = 0; i < result.spec.links().size(); ++i)
    list.push_back(summary_of(i < result.times.size() ? result.times[i] : Iterations{}, figure));
  return list;
}

/// Until the last device has what the terminal sends it.
double distribution_s(const Members& members) {
  return latest(members, fabric::Milestone::distributed);
}

/// From the end of all devices' work on.
double collection_s(const Members& members) {
  return latency_of(members) - latest(members, fabric::Milestone::computed);
}

Json nominal_communication(const Result& result, const std::vector<fabric::Link>& links) {
  Json list = Json::array();
  for (const fabric::Link& link : links) {
    double sum_s = 0;
    for (const cost::Prediction& sequence : result.predictions)
      sum_s += cost::nominal_communication_s(sequence, link);
    list.push_back(result.predictions.empty() ? Json(nullptr) : finite_or_null(sum_s));
  }
  return list;
}

/// Bytes that the link carries for an exchange, copies, packet headers and the retransmissions to
/// expect included.
std::int64_t carried_bytes(const cost::ScheduledExchange& exchange, const fabric::Link& link) {
  using Kind = cost::ScheduledExchange::Kind;
  const bool is_heard_by_all =
      exchange.kind == Kind::all_gather && link.topology == fabric::Topology::broadcast;
  const int receivers = is_heard_by_all ? static_cast<int>(exchange.bytes.size()) - 1 : 1;
  const auto on_link = [&](std::int64_t bytes) {
    return link.mean_bytes_on_link(bytes, receivers);
  };
  const std::int64_t all = std::transform_reduce(exchange.bytes.begin(), exchange.bytes.end(),
                                                 std::int64_t{0}, std::plus<>(), on_link);
  // Device 0 receives.
  if (exchange.kind == Kind::gather) return all - on_link(exchange.bytes.front());
  if (exchange.kind != Kind::all_gather) return all;  // from one member to one other
  const auto peers = static_cast<std::int64_t>(exchange.bytes.size()) - 1;
  return link.topology == fabric::Topology::broadcast ? (peers > 0 ? all : 0) : peers * all;
}

}  // namespace

Json link_json(const fabric::Link& link) {
  const auto rate_json = [](Rate rate) { return finite_or_null(rate.bit_per_s()); };
  Json rates = Json::array();
  for (const Rate rate : link.rates) rates.push_back(rate_json(rate));
  Json object{{"rate_bit_per_s", link.rates.size() == 1 ? rate_json(link.rates.front()) : rates},
              {"latency_s", link.latency.value_s()},
              {"topology", fabric::to_string(link.topology)},
              {"overhead", to_string(link.overhead)}};
  if (const auto& trace = link.trace)
    object["rate_trace"] = {{"file", trace->name()},
                            {"fingerprint", trace->fingerprint()},
                            {"mean_rate_bit_per_s", trace->mean_rate().bit_per_s()},
                            {"duration_s", trace->duration_s()}};
  if (link.loss.probability > 0)
    object["loss"] = {{"probability", link.loss.probability},
                      {"policy", fabric::to_string(link.loss.policy)},
                      {"packet_bytes", link.packet_bytes()}};
  return object;
}

std::int64_t predicted_link_bits(const Result& result, const fabric::Link& link) {
  std::int64_t bytes = 0;
  for (const cost::Prediction& sequence : result.predictions)
    for (const cost::ScheduledExchange& exchange : sequence.exchanges)
      bytes += carried_bytes(exchange, link);
  return 8 * bytes;
}

Json link_bits_json(const Result& result, std::size_t link) {
  if (link < result.link_bits.size()) return result.link_bits[link];
  const std::vector<fabric::Link> links = result.spec.links();
  if (result.predictions.empty() || link >= links.size()) return nullptr;
  return predicted_link_bits(result, links[link]);
}

Json time_section(const Result& result) {
  const std::vector<fabric::Link> links = result.spec.links();
  Json list = Json::array();
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Iterations iterations = i < result.times.size() ? result.times[i] : Iterations{};
    Json entry{{"link", link_json(links[i])}, {"link_bits", link_bits_json(result, i)}};
    entry.update(link_times(iterations, result.spec));
    if (i < result.repeated_packets.size()) entry["repeated_packets"] = result.repeated_packets[i];
    add_pipeline_figures(entry, iterations, result.spec);
    if (!result.spec.device_power.empty())
      entry["energy"] = energy_section(result, links[i], iterations);
    list.push_back(std::move(entry));
  }
  Json section{{"setup_s", finite_or_null(result.setup_s)},
               {"emulation_overhead", finite_or_null(result.emulation_overhead)},
               {"contended", result.contended ? Json(*result.contended) : Json(nullptr)},
               {"nominal_communication_s", nominal_communication(result, links)},
               {"links", std::move(list)},
               {"distribution_s", terminal_figure(result, distribution_s)},
               {"collection_s", terminal_figure(result, collection_s)},
               {"overlap", overlap_section(result)},
               {"bubble_fraction", bubble_fraction(result.spec)}};
  if (const auto& shared = result.shared_execution)
    section["shared_execution"] = {{"points", shared->points}, {"first_id", shared->first_id}};
  return section;
}

}  // namespace thinwire::harness
