#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "thinwire/harness/statistics.hpp"

namespace thinwire::costs {

/// Wall seconds that work() takes.
template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What two ways of doing the same took, in turn: samples[i] of one stands beside [i] of the other.
struct Paired {
  std::vector<double> ours_s, bare_s;
};

/// `blocks` times: `calls` calls of ours and as many of bare; seconds a call. One block of each
/// comes first, unmeasured, and who begins changes from block to block.
template <class Ours, class Bare>
Paired alternate(int blocks, int calls, Ours&& ours, Bare&& bare) {
  const auto repeated = [calls](auto&& work) {
    return seconds_of([&] {
             for (int call = 0; call < calls; ++call) work();
           }) /
           calls;
  };
  Paired paired;
  for (int block = -1; block < blocks; ++block) {
    const bool bare_first = block % 2 != 0;
    const double before_s = bare_first ? repeated(bare) : 0;
    const double ours_s = repeated(ours);
    const double bare_s = bare_first ? before_s : repeated(bare);
    if (block < 0) continue;
    paired.ours_s.push_back(ours_s);
    paired.bare_s.push_back(bare_s);
  }
  return paired;
}

/// Prints a row and returns whether the median ratio of the pairs is at most `target`.
inline bool print_ratio(const std::string& name, const Paired& paired, double target) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < paired.ours_s.size(); ++i)
    ratios.push_back(paired.ours_s[i] / paired.bare_s[i]);
  std::ranges::sort(ratios);
  const double ratio = harness::percentile(ratios, 50);
  const bool holds = ratio <= target;
  fmt::print("| {} | {:.2f} us | {:.2f} us | {:.3f} | {:.3f} to {:.3f} | <= {:.2f} | {} |\n", name,
             harness::summarize(paired.ours_s).p50 * 1e6,
             harness::summarize(paired.bare_s).p50 * 1e6, ratio, harness::percentile(ratios, 25),
             harness::percentile(ratios, 75), target, holds ? "pass" : "FAIL");
  return holds;
}

/// The same for a time that stands for itself.
inline bool print_time(const std::string& name, std::vector<double> samples_s, double target_s) {
  std::ranges::sort(samples_s);
  const double median_s = harness::percentile(samples_s, 50);
  const bool holds = median_s <= target_s;
  fmt::print("| {} | {:.2f} us | | | {:.2f} to {:.2f} us | <= {:.2f} us | {} |\n", name,
             median_s * 1e6, harness::percentile(samples_s, 25) * 1e6,
             harness::percentile(samples_s, 75) * 1e6, target_s * 1e6, holds ? "pass" : "FAIL");
  return holds;
}

}  // namespace thinwire::costs
