#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "thinwire/fabric/link.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/record.hpp"

// A virtual clock takes computing apart from the link: points that differ in their links alone do
// the same work and send the same bytes, so one execution that carries all their links shows each
// of them what its own would have shown (ACCOUNTING 5).
namespace thinwire::harness {

/// Equal for points that one execution can serve; "" for one that takes an execution of its own
/// (a wall clock, a data set, a point that cannot fit). `point` is resolved: what is chosen by the
/// link (rows, level) keeps points apart where it differs.
std::string execution_key(const Point& point);

/// The links of several points, each once.
struct SharedLinks {
  std::vector<fabric::Link> links;
  std::vector<std::vector<std::size_t>> of_point;  ///< [point][its link]: index into `links`
};
SharedLinks shared_links(std::span<const Point> points);

/// What an execution with SharedLinks::links showed of one point.
///   links  its entry of SharedLinks::of_point
Result result_under(const Result& all, const RunSpec& spec, std::span<const std::size_t> links);

}  // namespace thinwire::harness
