#include <algorithm>

#include "record_parts.hpp"
#include "thinwire/cost/energy.hpp"

namespace thinwire::harness {
namespace {

using Members = std::vector<fabric::LinkTimes>;

/// When the last device, or the terminal, has done its part.
double end_s(const Members& members) {
  double latest_s = 0;
  for (const fabric::LinkTimes& member : members)
    latest_s = std::max(latest_s, member.compute_s + member.wait_s);
  return latest_s;
}

/// Means over the iterations.
struct MeanTimes {
  double latency_s = 0;
  std::vector<double> compute_s;  ///< [P]
};

MeanTimes mean_times(const std::vector<Members>& iterations, std::size_t devices) {
  MeanTimes mean{.compute_s = std::vector<double>(devices, 0.0)};
  const auto count = static_cast<double>(iterations.size());
  for (const Members& members : iterations) {
    mean.latency_s += end_s(members) / count;
    for (std::size_t p = 0; p < devices; ++p) mean.compute_s[p] += members.at(p).compute_s / count;
  }
  return mean;
}

}  // namespace

Json energy_section(const Result& result, const fabric::Link& link,
                    const std::vector<Members>& iterations) {
  const std::vector<cost::Powers> powers = result.spec.powers_per_device();
  if (powers.empty() || iterations.empty() || result.predictions.empty()) return nullptr;
  const MeanTimes times = mean_times(iterations, powers.size());
  const std::vector<cost::RadioLoad> radio = cost::radio_loads(result.predictions, link);
  const int inputs = result.predictions.front().inputs;
  Json per_device_j = Json::array();
  double total_j = 0;
  for (std::size_t p = 0; p < powers.size(); ++p) {
    const double device_j =
        cost::energy_j(powers[p], times.compute_s[p], times.latency_s, radio[p]) / inputs;
    per_device_j.push_back(device_j);
    total_j += device_j;
  }
  return {{"per_device_j", std::move(per_device_j)}, {"total_j", total_j}};
}

}  // namespace thinwire::harness
