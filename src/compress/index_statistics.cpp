#include "thinwire/compress/index_statistics.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

constexpr std::size_t kFields = 5;
/// Entries that wait to be sorted, at least: sorting again and again would take longer.
constexpr std::size_t kWaiting = 4096;

bool comes_before(const IndexStatistics::Entry& a, const IndexStatistics::Entry& b) {
  return std::tie(a.context, a.index) < std::tie(b.context, b.index);
}

bool is_same(const IndexStatistics::Entry& a, const IndexStatistics::Entry& b) {
  return a.context == b.context && a.index == b.index;
}

/// Sorts, and makes one entry of several for the same context and index.
void compact(std::vector<IndexStatistics::Entry>& entries) {
  if (entries.empty()) return;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::ranges::sort(entries, comes_before);
  auto last = entries.begin();
  for (auto next = last + 1; next != entries.end(); ++next) {
    if (is_same(*last, *next))
      last->count =
          static_cast<std::int32_t>(std::min(kMost, std::int64_t{last->count} + next->count));
    else
      *++last = *next;
  }
  entries.erase(last + 1, entries.end());
}

}  // namespace

IndexStatistics::IndexStatistics(Index codewords, Index contexts)
    : codewords_(codewords), contexts_(contexts) {
  TW_REQUIRE(codewords >= 1 && codewords <= contexts && contexts <= 65536,
             "statistics of {} codewords after {}", codewords, contexts);
}

void IndexStatistics::check(const Entry& entry) const {
  const auto& [previous, earlier, neighbour] = entry.context;
  TW_REQUIRE(entry.index >= 0 && entry.index < codewords_ && neighbour >= -1 &&
                 neighbour < codewords_ && entry.count >= 1,
             "statistics of index {} behind {}, {} times, of {} codewords", entry.index, neighbour,
             entry.count, codewords_);
  TW_REQUIRE(previous >= -1 && previous < contexts_ && earlier >= -1 && earlier < contexts_,
             "statistics of an index after {} and {} of {} codewords", previous, earlier,
             contexts_);
}

void IndexStatistics::append(const Entry& entry) {
  check(entry);
  entries_.push_back(entry);
  if (entries_.size() < 2 * distinct_ + kWaiting) return;
  compact(entries_);
  distinct_ = entries_.size();
}

void IndexStatistics::add(std::span<const std::int32_t> indices, const KnownIndices& known,
                          Index group, Index groups) {
  const auto has_size = [&](std::span<const std::int32_t> span) {
    return span.empty() || span.size() == indices.size();
  };
  TW_REQUIRE(group >= 0 && group < groups && std::ssize(indices) % groups == 0 &&
                 has_size(known.previous) && has_size(known.earlier),
             "statistics of group {} of {} in {} indices after {} and {}", group, groups,
             indices.size(), known.previous.size(), known.earlier.size());
  const auto step = static_cast<std::size_t>(groups);
  for (auto i = static_cast<std::size_t>(group); i < indices.size(); i += step)
    append({.context = context_of(indices, known, i, step), .index = indices[i], .count = 1});
}

void IndexStatistics::merge(std::span<const std::int32_t> flat) {
  TW_REQUIRE(flat.size() % kFields == 0, "statistics of {} numbers", flat.size());
  for (std::size_t i = 0; i < flat.size(); i += kFields)
    append({.context = {flat[i], flat[i + 1], flat[i + 2]},
            .index = flat[i + 3],
            .count = flat[i + 4]});
}

std::vector<IndexStatistics::Entry> IndexStatistics::entries() const {
  std::vector<Entry> entries = entries_;
  compact(entries);
  return entries;
}

std::vector<std::int32_t> IndexStatistics::flat() const {
  std::vector<std::int32_t> flat;
  flat.reserve(entries().size() * kFields);
  for (const auto& [context, index, count] : entries())
    flat.insert(flat.end(), {context.previous, context.earlier, context.neighbour, index, count});
  return flat;
}

}  // namespace thinwire::compress
