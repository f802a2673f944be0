#include "thinwire/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

std::string to_hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::string_view closest_name(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string wanted = lower_case(name);  // "PRISM" is near to "prism"
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, lower_case(candidate));
    const bool is_near = 3 * distance <= std::max(name.size(), candidate.size());
    if (!is_near || (!best.empty() && distance >= best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view closest = closest_name(name, candidates);
  return closest.empty() ? std::string{} : fmt::format(" (did you mean {}?)", closest);
}

std::size_t name_index(std::string_view what, std::string_view name,
                       std::span<const std::string_view> known) {
  const auto found = std::ranges::find(known, name);
  require_input(found != known.end(), "{}={} is unknown{}; known: {}", what, name,
                suggestion(name, known), join(known, ", "));
  return static_cast<std::size_t>(found - known.begin());
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(std::span<const std::string_view> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

}  // namespace thinwire
