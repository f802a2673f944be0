#include "context_counts.hpp"

namespace thinwire::compress {
namespace {

struct Triple {
  std::int32_t context = 0, index = 0;
  std::int64_t count = 0;
};

/// Of one family, each context and index once, sorted.
std::vector<Triple> triples_of(std::span<const IndexStatistics::Entry> entries, Family family) {
  std::vector<Triple> triples;
  for (const IndexStatistics::Entry& entry : entries)
    if (const std::int32_t context = base_of(family, entry.context); context >= 0)
      triples.push_back({context, entry.index, entry.count});
  const auto key = [](const Triple& triple) { return std::pair(triple.context, triple.index); };
  std::ranges::sort(triples, {}, key);
  std::vector<Triple> merged;
  for (const Triple& triple : triples)
    if (!merged.empty() && key(merged.back()) == key(triple))
      merged.back().count += triple.count;
    else
      merged.push_back(triple);
  return merged;
}

}  // namespace

ContextCounts::ContextCounts(std::span<const IndexStatistics::Entry> entries, Family family,
                             std::int32_t least)
    : least_(least), ends_(1) {
  const std::vector<Triple> triples = triples_of(entries, family);
  const std::size_t most = family == Family::earlier ? kMostEvidence : kMostSuccessors;
  if (!triples.empty()) totals_.resize(static_cast<std::size_t>(triples.back().context) + 1);
  auto next = triples.begin();
  for (std::size_t context = 0; context < totals_.size(); ++context) {
    Totals& totals = totals_[context];
    std::vector<Successor> list;
    for (; next != triples.end() && static_cast<std::size_t>(next->context) == context; ++next) {
      const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(next->count, INT32_MAX));
      totals.all += count;
      ++totals.distinct;
      if (lists(count)) list.push_back({static_cast<std::uint16_t>(next->index), count});
    }
    std::ranges::stable_sort(list, std::ranges::greater(), &Successor::count);
    if (list.size() > most) list.resize(most);
    for (std::size_t i = 0; i < list.size(); ++i) list[i].is_evidence = i < kMostEvidence;
    std::ranges::sort(list, {}, &Successor::index);
    for (const Successor& successor : list) totals.listed += successor.count;
    successors_.insert(successors_.end(), list.begin(), list.end());
    ends_.push_back(successors_.size());
  }
}

}  // namespace thinwire::compress
