#include "index_table_layout.hpp"

#include <vector>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

/// Where the families begin in the header.
constexpr std::size_t kFamilyWords = 6;

}  // namespace

TableLayout::TableLayout(std::span<const std::uint16_t> words) : words_(words) {
  TW_REQUIRE(words.size() >= kHeaderWords, "index tables of {} words", words.size());
  codewords_ = std::size_t{words[0]} + 1;
  contexts_ = std::size_t{words[1]} + 1;
  std::size_t next = kHeaderWords + (codewords_ + 1) / 2;
  for (std::size_t family = 0; family < kFamilies; ++family) {
    Part& part = parts_[family];
    part.begin = next;
    part.count = wide(kFamilyWords + 3 * family);
    part.contexts = std::size_t{words[kFamilyWords + 3 * family + 2]} + 1;
    if (part.count > 0) next = part.end();
  }
  size_ = next;
}

void TableLayout::check() const {
  TW_REQUIRE(size_ == words_.size(), "index tables of {} words instead of {}", words_.size(),
             size_);
  for (std::size_t i = 0; i < codewords_; ++i)
    TW_REQUIRE(cost_alone(i) <= kMostCost, "index {} costs {} (at most {})", i, cost_alone(i),
               kMostCost);
  for (const Part& part : parts_)
    if (part.count > 0) check(part);
}

void TableLayout::check(const Part& part) const {
  TW_REQUIRE(wide(part.begin) == 0 && wide(part.begin + 2 * part.contexts) == part.count,
             "successors from {} to {} of {}", wide(part.begin),
             wide(part.begin + 2 * part.contexts), part.count);
  for (std::size_t context = 0; context < part.contexts; ++context) {
    const std::size_t first = wide(part.begin + 2 * context);
    const std::size_t end = wide(part.begin + 2 * (context + 1));
    TW_REQUIRE(first <= end && end <= part.count && end - first <= kMostSuccessors,
               "context {} has successors {} to {} of {}", context, first, end, part.count);
    TW_REQUIRE(byte_of(words_.subspan(part.escapes()), context) <= kMostCost,
               "context {} has an escape of more than {}", context, kMostCost);
    const auto listed = words_.subspan(part.indices() + first, end - first);
    std::vector<std::uint16_t> indices(listed.begin(), listed.end());
    std::ranges::sort(indices);
    TW_REQUIRE(std::ranges::adjacent_find(indices) == indices.end() &&
                   (indices.empty() || indices.back() < codewords_),
               "the successors of context {} are not different ones of {} codewords", context,
               codewords_);
  }
  for (std::size_t i = 0; i < part.count; ++i)
    TW_REQUIRE(byte_of(words_.subspan(part.costs()), i) <= kMostCost,
               "successor {} costs more than {}", i, kMostCost);
}

}  // namespace thinwire::compress
