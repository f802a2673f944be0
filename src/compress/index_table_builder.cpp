#include "index_table_builder.hpp"

#include <array>
#include <optional>
#include <utility>

#include "context_counts.hpp"

namespace thinwire::compress {
namespace {

constexpr int kQuarters = 4;
/// Entries that weights are chosen on: more would not choose otherwise.
constexpr std::size_t kJudged = 16384;
/// What a family's lists have to save of all bits to be worth their bytes.
constexpr double kWorthwhile = 0.03;
/// How often a successor that is mere evidence has to be counted: those counted once are nearly
/// half of all and save about one bit in a hundred.
constexpr std::int32_t kRepeated = 2;

using Weights = std::array<int, kFamilies>;  // quarters

struct Counts {
  AloneCounts alone;
  std::array<ContextCounts, kFamilies> families;

  const ContextCounts& of(Family family) const {
    return families[static_cast<std::size_t>(family)];
  }
};

/// What one family says about indices in the context of an entry that was itself not counted.
class LeftOut {
 public:
  LeftOut(const Counts& counts, Family family, const IndexStatistics::Entry& entry)
      : counts_(counts), family_(counts.of(family)), left_out_(entry.index) {
    const std::int32_t context = base_of(family, entry.context);
    if (context < 0) return;
    context_ = static_cast<std::size_t>(context);
    const std::int32_t own =
        family_.successor(context_, static_cast<std::uint16_t>(entry.index)).count;
    shares_ = family_.shares(context_, own);
    const bool drops_out = own > 0 && !family_.lists(own - 1);
    is_known_ = family_.successors(context_).size() > (drops_out ? 1U : 0U);
  }

  bool is_known() const { return is_known_; }
  double escape() const { return shares_.escape; }
  /// 0 for an index that is not among the successors.
  double probability(std::uint16_t index, std::int32_t count) const {
    if (index == left_out_) --count;
    return count <= 0 || !family_.lists(count)
               ? 0
               : count / shares_.counted + shares_.escape * counts_.alone.probability(index);
  }
  /// log2 of how much likelier the context makes the index.
  double evidence(std::uint16_t index) const {
    const ContextCounts::Successor successor = family_.successor(context_, index);
    const double p = successor.is_evidence ? probability(index, successor.count) : 0;
    return p > 0 ? std::log2(p / counts_.alone.probability(index)) : std::log2(shares_.escape);
  }
  auto successors() const { return family_.successors(context_); }

 private:
  const Counts& counts_;
  const ContextCounts& family_;
  std::int32_t left_out_;
  std::size_t context_ = 0;
  ContextCounts::Shares shares_;
  bool is_known_ = false;
};

/// Bits of an index of whose previous ones nothing is known, with or without neighbours' lists.
double alone_bits(const Counts& counts, const IndexStatistics::Entry& entry, bool has_neighbour) {
  const auto index = static_cast<std::uint16_t>(entry.index);
  const double bits = -std::log2(counts.alone.probability(index, 1));
  const LeftOut list(counts, Family::neighbour, entry);
  if (!has_neighbour || !list.is_known()) return bits;
  double total = list.escape();
  for (const ContextCounts::Successor& other : list.successors())
    total += list.probability(other.index, other.count);
  const double own = list.probability(
      index, counts.of(Family::neighbour)
                 .successor(static_cast<std::size_t>(entry.context.neighbour), index)
                 .count);
  return own > 0 ? std::log2(total / own) : bits + std::log2(total / list.escape());
}

/// One entry's successors by its previous index, and what the two other families say about each.
struct Judged {
  struct Candidate {
    double probability = 0;
    double earlier = 0, neighbour = 0;  ///< log2
  };
  std::vector<Candidate> candidates;  ///< the entry's own index first, if it is one
  bool is_listed = false;
  double escape = 1, alone_bits = 0;
  std::int32_t count = 0;

  double bits(const Weights& weights) const {
    const double earlier = weights[1] / double{kQuarters},
                 neighbour = weights[2] / double{kQuarters};
    double total = escape, own = escape;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      const double share = candidate.probability *
                           std::exp2(earlier * candidate.earlier + neighbour * candidate.neighbour);
      total += share;
      if (i == 0 && is_listed) own = share;
    }
    return std::log2(total / own) + (is_listed ? 0 : alone_bits);
  }
};

Judged judge(const Counts& counts, const IndexStatistics::Entry& entry, bool has_neighbour) {
  Judged judged;
  judged.alone_bits = alone_bits(counts, entry, has_neighbour);
  judged.count = entry.count;
  const LeftOut base(counts, Family::previous, entry);
  const LeftOut earlier(counts, Family::earlier, entry);
  const LeftOut neighbour(counts, Family::neighbour, entry);
  if (!base.is_known()) return judged;
  judged.escape = base.escape();
  for (const auto& [index, count, is_evidence] : base.successors()) {
    const double probability = base.probability(index, count);
    if (probability <= 0) continue;
    judged.candidates.push_back({probability, earlier.is_known() ? earlier.evidence(index) : 0,
                                 neighbour.is_known() ? neighbour.evidence(index) : 0});
    if (index == entry.index) {
      judged.is_listed = true;
      std::swap(judged.candidates.front(), judged.candidates.back());
    }
  }
  return judged;
}

/// Mean bits of entries by what `bits` says of each; 0 without entries.
template <class Items, class Bits>
double mean(const Items& items, Bits&& bits) {
  double sum = 0, count = 0;
  for (const auto& item : items) {
    sum += item.count * bits(item);
    count += item.count;
  }
  return count > 0 ? sum / count : 0;
}

struct Choice {
  Weights weights = {};
  std::array<bool, kFamilies> is_used = {};
  double entropy_bits = 0, cross_bits = 0;
};

/// The best weights of those up to `most`, and their bits.
std::pair<Weights, double> best_weights(std::span<const Judged> judged, const Weights& most) {
  std::pair<Weights, double> best{{}, HUGE_VAL};
  for (int earlier = 0; earlier <= most[1]; ++earlier)
    for (int neighbour = 0; neighbour <= most[2]; ++neighbour) {
      const Weights weights = {0, earlier, neighbour};
      const double bits = mean(judged, [&](const Judged& one) { return one.bits(weights); });
      if (bits < best.second) best = {weights, bits};
    }
  return best;
}

/// Lists of a family beside the previous one's have to save kWorthwhile of the bits.
void choose_cross_layer(const Counts& counts, std::span<const IndexStatistics::Entry> entries,
                        Choice& choice) {
  std::vector<Judged> judged;
  for (const IndexStatistics::Entry& entry : entries)
    judged.push_back(judge(counts, entry, choice.is_used[2]));
  double least = HUGE_VAL;
  for (const Weights most : {Weights{}, Weights{0, kQuarters, 0}, Weights{0, 0, kQuarters},
                             Weights{0, kQuarters, kQuarters}}) {
    const auto [weights, bits] = best_weights(judged, most);
    const int lists = (weights[1] > 0 ? 1 : 0) + (weights[2] > 0 ? 1 : 0);
    const double price = bits * (1 + kWorthwhile * lists);
    if (price >= least) continue;
    least = price;
    choice.weights = weights;
    choice.cross_bits = bits;
  }
  for (std::size_t family = 1; family < kFamilies; ++family)
    choice.is_used[family] = choice.is_used[family] || choice.weights[family] > 0;
}

Choice choose(const Counts& counts, std::span<const IndexStatistics::Entry> entries) {
  if (entries.empty()) {
    const double bits = std::log2(static_cast<double>(counts.alone.size()));
    return {.entropy_bits = bits, .cross_bits = bits};
  }
  const auto entropy = [&](bool has_neighbour) {
    return mean(entries, [&](const IndexStatistics::Entry& entry) {
      return alone_bits(counts, entry, has_neighbour);
    });
  };
  Choice choice;
  const double without = entropy(false), with = entropy(true);
  choice.is_used[2] = with < (1 - kWorthwhile) * without;
  choice.entropy_bits = choice.cross_bits = choice.is_used[2] ? with : without;
  choice.is_used[0] = counts.of(Family::previous).size() > 0;
  if (choice.is_used[0]) choose_cross_layer(counts, entries, choice);
  return choice;
}

/// Evenly spread ones of many entries.
std::vector<IndexStatistics::Entry> thin_out(std::vector<IndexStatistics::Entry> entries) {
  const std::size_t step = entries.size() / kJudged + 1;
  std::vector<IndexStatistics::Entry> kept;
  for (std::size_t i = 0; i < entries.size(); i += step) kept.push_back(entries[i]);
  return kept;
}

int cost_of(double probability) {
  const double cost = std::round(-kCostsPerBit * std::log2(probability));
  return static_cast<int>(std::clamp(cost, 0.0, double{kMostCost}));
}

/// Appends to the words of tables.
class WordWriter {
 public:
  explicit WordWriter(std::vector<std::uint16_t>& words) : words_(words) {}

  void word(std::size_t value) { words_.push_back(static_cast<std::uint16_t>(value)); }
  void wide(std::size_t value) {
    word(value & 0xFFFF);
    word(value >> 16);
  }
  void bytes(std::span<const int> values) {
    for (std::size_t i = 0; i < values.size(); i += 2)
      word(static_cast<std::size_t>(values[i] | (i + 1 < values.size() ? values[i + 1] << 8 : 0)));
  }

 private:
  std::vector<std::uint16_t>& words_;
};

void write_header(WordWriter& writer, const IndexStatistics& statistics, const Counts& counts,
                  const Choice& choice) {
  writer.word(static_cast<std::size_t>(statistics.codewords() - 1));
  writer.word(static_cast<std::size_t>(statistics.contexts() - 1));
  std::size_t weights = 0;
  for (std::size_t family = 0; family < kFamilies; ++family)
    weights |= static_cast<std::size_t>(choice.weights[family]) << (4 * family);
  writer.word(weights);
  writer.word(0);
  for (const double bits : {choice.entropy_bits, choice.cross_bits})
    writer.word(static_cast<std::size_t>(std::min(65535.0, std::round(kExpectedUnits * bits))));
  for (std::size_t family = 0; family < kFamilies; ++family) {
    const ContextCounts& lists = counts.families[family];
    writer.wide(choice.is_used[family] ? lists.size() : 0);
    writer.word(lists.contexts() > 0 ? lists.contexts() - 1 : 0);
  }
}

/// The most frequent ones first: a decoder soon finds them.
std::vector<ContextCounts::Successor> in_order(std::span<const ContextCounts::Successor> list) {
  std::vector<ContextCounts::Successor> ordered(list.begin(), list.end());
  std::ranges::stable_sort(ordered, std::ranges::greater(), &ContextCounts::Successor::count);
  return ordered;
}

void write_family(WordWriter& writer, const ContextCounts& family, const AloneCounts& alone) {
  std::vector<int> escapes, costs;
  std::vector<std::uint16_t> indices;
  writer.wide(0);
  for (std::size_t context = 0; context < family.contexts(); ++context) {
    const ContextCounts::Shares shares = family.shares(context);
    escapes.push_back(cost_of(shares.escape));
    for (const ContextCounts::Successor& successor : in_order(family.successors(context))) {
      indices.push_back(successor.index);
      costs.push_back(cost_of(successor.count / shares.counted +
                              shares.escape * alone.probability(successor.index)));
    }
    writer.wide(indices.size());
  }
  writer.bytes(escapes);
  for (const std::uint16_t index : indices) writer.word(index);
  writer.bytes(costs);
}

}  // namespace

std::vector<std::uint16_t> build_index_tables(const IndexStatistics& statistics) {
  const std::vector<IndexStatistics::Entry> entries = statistics.entries();
  const auto codewords = static_cast<std::size_t>(statistics.codewords());
  const Counts counts{AloneCounts(entries, codewords),
                      {ContextCounts(entries, Family::previous, 1),
                       ContextCounts(entries, Family::earlier, kRepeated),
                       ContextCounts(entries, Family::neighbour, kRepeated)}};
  const Choice choice = choose(counts, thin_out(entries));

  std::vector<std::uint16_t> words;
  WordWriter writer(words);
  write_header(writer, statistics, counts, choice);
  std::vector<int> costs;
  for (std::size_t index = 0; index < codewords; ++index)
    costs.push_back(cost_of(counts.alone.probability(index)));
  writer.bytes(costs);
  for (std::size_t family = 0; family < kFamilies; ++family)
    if (choice.is_used[family] && counts.families[family].size() > 0)
      write_family(writer, counts.families[family], counts.alone);
  return words;
}

}  // namespace thinwire::compress
