#include "thinwire/compress/segments.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"

namespace thinwire::compress {
namespace {

constexpr std::array<std::string_view, 3> kScalingNames = {"on", "off", "duplicate"};

/// A decimal rate such as 6.4 has no exact double: an integer quotient may come out an ulp short.
constexpr double kRounding = 1e-12;

}  // namespace

Scaling parse_scaling(std::string_view name) {
  return static_cast<Scaling>(name_index("scaling", name, kScalingNames));
}

std::string_view to_string(Scaling scaling) {
  return kScalingNames[static_cast<std::size_t>(scaling)];
}

std::vector<Index> segment_lengths(Index rows, Index segments) {
  require_input(segments >= 1 && segments <= rows,
                "segments={} for a partition of {} tokens: every segment needs a token, so choose "
                "1 to {}",
                segments, rows, rows);
  std::vector<Index> lengths;
  lengths.reserve(static_cast<std::size_t>(segments));
  for (Index i = 0; i < segments; ++i) lengths.push_back(segment_rows(rows, segments, i).size);
  return lengths;
}

Index segments_for_rate(Index tokens, int devices, double compression_rate) {
  require_input(std::isfinite(compression_rate) && compression_rate >= 1,
                "compression-rate={}: a rate of 1 leaves every token, so choose 1 or more",
                compression_rate);
  TW_REQUIRE(tokens >= 1 && devices >= 1, "{} tokens on {} devices", tokens, devices);
  const double exact = static_cast<double>(tokens) / (compression_rate * devices);
  return std::max<Index>(1, static_cast<Index>(std::floor(exact * (1 + kRounding))));
}

}  // namespace thinwire::compress
