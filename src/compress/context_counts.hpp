#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "index_model.hpp"

namespace thinwire::compress {

/// How often each index occurs at all, as a probability that none lacks (Krichevsky-Trofimov).
class AloneCounts {
 public:
  AloneCounts(std::span<const IndexStatistics::Entry> entries, std::size_t codewords)
      : counts_(codewords) {
    for (const IndexStatistics::Entry& entry : entries) {
      counts_[static_cast<std::size_t>(entry.index)] += entry.count;
      total_ += entry.count;
    }
  }

  double probability(std::size_t index, int left_out = 0) const {
    constexpr double kPrior = 0.5;
    return (static_cast<double>(counts_[index] - left_out) + kPrior) /
           (static_cast<double>(total_ - left_out) + kPrior * static_cast<double>(counts_.size()));
  }
  std::size_t size() const { return counts_.size(); }

 private:
  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
};

/// The counted successors of every context of one family.
class ContextCounts {
 public:
  struct Successor {
    std::uint16_t index = 0;
    std::int32_t count = 0;
    bool is_evidence = false;  ///< one of the kMostEvidence most frequent
  };

  /// least: how often an index has to follow a context to be listed
  ContextCounts(std::span<const IndexStatistics::Entry> entries, Family family, std::int32_t least);

  /// Up to the last one that has successors.
  std::size_t contexts() const { return totals_.size(); }
  /// Ascending by index, at most kMostSuccessors (of `earlier`, which no index is coded by alone,
  /// kMostEvidence): of more, the most frequent.
  std::span<const Successor> successors(std::size_t context) const {
    return std::span(successors_).subspan(ends_[context], ends_[context + 1] - ends_[context]);
  }
  /// All zero if it is not listed.
  Successor successor(std::size_t context, std::uint16_t index) const {
    const auto list = successors(context);
    const auto found = std::ranges::lower_bound(list, index, {}, &Successor::index);
    return found != list.end() && found->index == index ? *found : Successor{};
  }
  std::size_t size() const { return successors_.size(); }

  /// How a context's mass is shared between its successors and all others (Witten-Bell): a share
  /// that grows with the number of different indices is for the others.
  struct Shares {
    double counted = 1;  ///< divides a successor's count
    double escape = 1;
  };
  /// With one of a successor's `count` not counted.
  Shares shares(std::size_t context, std::int32_t count = 0) const {
    const Totals& totals = totals_[context];
    const double all = static_cast<double>(totals.all) - (count > 0 ? 1 : 0);
    const double listed = static_cast<double>(totals.listed) - (count == 0       ? 0
                                                                : count > least_ ? 1
                                                                                 : count);
    const double others = static_cast<double>(totals.distinct) + kPrior - (count == 1 ? 1 : 0);
    return {.counted = all + others, .escape = (all - listed + others) / (all + others)};
  }
  /// Whether a successor of this count is listed.
  bool lists(std::int32_t count) const { return count >= least_; }

 private:
  struct Totals {
    std::int64_t all = 0, listed = 0, distinct = 0;
  };
  static constexpr double kPrior = 0.5;
  std::int32_t least_;
  std::vector<Successor> successors_;
  std::vector<std::size_t> ends_;  // [contexts + 1]
  std::vector<Totals> totals_;     // [contexts]
};

}  // namespace thinwire::compress
