#include "thinwire/harness/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace thinwire::harness {
namespace {

/// What the link model makes of a size: time = latency + bits / rate.
struct Observation {
  double bits;        ///< one after the other on the link, copies and overhead included
  double measured_s;  ///< median
};

std::vector<Observation> observe(const LinkSetting& setting, std::span<const LinkTiming> timings) {
  fabric::Link unit = setting.link;
  unit.rates = {Rate::bits_per_second(1)};
  unit.latency = Seconds(0);
  std::vector<Observation> observations;
  for (const LinkTiming& timing : timings)
    observations.push_back(
        {all_gather_formula_s(unit, setting.devices, timing.bytes), timing.measured_s.p50});
  return observations;
}

struct Line {
  double latency_s, s_per_bit;
  double at(double bits) const { return latency_s + s_per_bit * bits; }
};

/// Least squares of (latency u + s_per_bit v - 1) with u = 1 / measured, v = bits / measured: the
/// normal equations, and the edge of what a link can be where their solution lies beyond it.
Line solve(std::span<const Observation> observations) {
  double uu = 0, uv = 0, vv = 0, u_sum = 0, v_sum = 0;
  const double scale = std::ranges::max(observations, {}, &Observation::bits).bits;
  for (const auto& [bits, measured_s] : observations) {
    const double u = 1 / measured_s, v = bits / scale / measured_s;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u_sum += u;
    v_sum += v;
  }
  const double determinant = uu * vv - uv * uv;
  const double latency_s = (u_sum * vv - v_sum * uv) / determinant;
  const double slope = (v_sum * uu - u_sum * uv) / determinant;
  if (slope <= 0) return {u_sum / uu, 0};
  if (latency_s < 0) return {0, v_sum / vv / scale};
  return {latency_s, slope / scale};
}

double median_error(const Line& line, std::span<const Observation> observations) {
  std::vector<double> errors;
  for (const auto& [bits, measured_s] : observations)
    errors.push_back(std::abs(line.at(bits) / measured_s - 1));
  return summarize(std::move(errors)).p50;
}

}  // namespace

std::optional<LinkFit> fit_link(const LinkSetting& setting, std::span<const LinkTiming> timings) {
  const std::vector<Observation> observations = observe(setting, timings);
  const auto [least, most] = std::ranges::minmax(observations, {}, &Observation::bits);
  const bool is_timed =
      std::ranges::all_of(observations, [](const auto& each) { return each.measured_s > 0; });
  if (setting.link.rates.size() > 1 || !is_timed || least.bits == most.bits) return std::nullopt;
  const Line line = solve(observations);
  return LinkFit{
      .rate = line.s_per_bit > 0 ? Rate::bits_per_second(1 / line.s_per_bit) : Rate::unlimited(),
      .latency = Seconds(line.latency_s),
      .median_error = median_error(line, observations)};
}

}  // namespace thinwire::harness
