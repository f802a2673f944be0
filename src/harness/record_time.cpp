#include "record_time.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "thinwire/cost/modelled_time.hpp"
#include "thinwire/harness/statistics.hpp"

namespace thinwire::harness {
namespace {

using Iterations = std::vector<std::vector<fabric::LinkTimes>>;  // [iteration][device]
using Figure = double (*)(const fabric::LinkTimes&);

double latency_of(const fabric::LinkTimes& t) {
  return t.compute_s + t.wait_s;
}

constexpr std::pair<const char*, Figure> kFigures[] = {
    {"latency_s", latency_of},
    {"compute_s", [](const fabric::LinkTimes& t) { return t.compute_s; }},
    {"wait_s", [](const fabric::LinkTimes& t) { return t.wait_s; }},
    {"hidden_s", [](const fabric::LinkTimes& t) { return t.hidden_s; }},
    {"skew_s", [](const fabric::LinkTimes& t) { return t.skew_s; }}};

/// Adds a summary of every figure, of the device that `choose` takes from each iteration.
template <class Choose>
void add_figures(Json& object, const Iterations& iterations, Choose choose) {
  for (const auto& [name, figure] : kFigures) {
    std::vector<double> samples;
    for (const std::vector<fabric::LinkTimes>& devices : iterations)
      samples.push_back(figure(choose(devices)));
    object[name] = to_json(summarize(std::move(samples)));
  }
}

Json link_times(const Iterations& iterations) {
  Json object = Json::object();
  add_figures(object, iterations, [](const auto& devices) -> const fabric::LinkTimes& {
    return *std::ranges::max_element(devices, {}, latency_of);
  });
  object["per_device"] = Json::array();
  const std::size_t devices = iterations.empty() ? 0 : iterations.front().size();
  for (std::size_t p = 0; p < devices; ++p) {
    Json device = Json::object();
    add_figures(device, iterations,
                [p](const auto& all) -> const fabric::LinkTimes& { return all.at(p); });
    object["per_device"].push_back(std::move(device));
  }
  return object;
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

}  // namespace

Json link_json(const fabric::Link& link) {
  const auto rate_json = [](Rate rate) { return finite_or_null(rate.bit_per_s()); };
  Json rates = Json::array();
  for (const Rate rate : link.rates) rates.push_back(rate_json(rate));
  return {{"rate_bit_per_s", link.rates.size() == 1 ? rate_json(link.rates.front()) : rates},
          {"latency_s", link.latency.value_s()},
          {"topology", fabric::to_string(link.topology)}};
}

std::int64_t predicted_link_bits(const Result& result, const fabric::Link& link) {
  std::int64_t bytes = 0;
  for (const cost::Prediction& sequence : result.predictions)
    for (const cost::ScheduledExchange& exchange : sequence.exchanges) {
      const std::int64_t all =
          std::accumulate(exchange.bytes.begin(), exchange.bytes.end(), std::int64_t{0});
      const auto peers = static_cast<std::int64_t>(exchange.bytes.size()) - 1;
      if (exchange.kind == cost::ScheduledExchange::Kind::gather)
        bytes += all - exchange.bytes.front();  // device 0 receives
      else
        bytes += link.topology == fabric::Topology::broadcast ? (peers > 0 ? all : 0) : peers * all;
    }
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
    Json entry{{"link", link_json(links[i])}, {"link_bits", link_bits_json(result, i)}};
    entry.update(link_times(i < result.times.size() ? result.times[i] : Iterations{}));
    list.push_back(std::move(entry));
  }
  return {{"setup_s", finite_or_null(result.setup_s)},
          {"emulation_overhead", finite_or_null(result.emulation_overhead)},
          {"contended", result.contended ? Json(*result.contended) : Json(nullptr)},
          {"nominal_communication_s", nominal_communication(result, links)},
          {"links", std::move(list)},
          {"distribution_s", nullptr},
          {"collection_s", nullptr}};
}

}  // namespace thinwire::harness
