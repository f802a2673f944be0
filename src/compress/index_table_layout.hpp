#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "thinwire/base/types.hpp"

namespace thinwire::compress {

// Costs are in eighths of a bit: a probability to within 4.5 percent, for less than 0.001 bits an
// index. A frequency is 2^-cost, from integers alone.

constexpr int kCostsPerBit = 8;
/// The unit of expected bits: 1/256.
constexpr double kExpectedUnits = 256;
/// The rarest of an index alone: 2^-16.
constexpr int kMostCost = 16 * kCostsPerBit;
/// Successors that a context can have, which bounds a coder's time and stack: the rarer ones of the
/// few contexts with more would save 1 % of the bits and take a fifth more of the time.
constexpr std::size_t kMostSuccessors = 31;

/// round(2^32 * 2^(-i/8))
constexpr std::array<std::uint64_t, kCostsPerBit> kFractions = {
    4294967296, 3938502376, 3611622603, 3311872529, 3037000500, 2784941738, 2553802834, 2341847524};

constexpr std::uint64_t power_of_half(int eighths) {
  return kFractions[static_cast<std::size_t>(eighths) % kCostsPerBit] >> (eighths / kCostsPerBit);
}

/// Of an index alone, at least 1; the sum over 65536 indices stays below 2^32.
constexpr std::uint32_t alone_frequency(int cost) {
  return static_cast<std::uint32_t>(power_of_half(kMostCost + cost));
}

/// Of them, the first, as many as count as evidence on the successors of another context.
constexpr std::size_t kMostEvidence = 12;

/// How frequent a successor is whose cost exceeds that of the context's cheapest: 2^14 * 2^-excess,
/// at least 1.
constexpr int kMostExcess = 14 * kCostsPerBit;
constexpr std::uint32_t frequency(int excess) {
  return static_cast<std::uint32_t>(power_of_half(18 * kCostsPerBit + excess));
}

/// What a context is: whose index.
enum class Family : std::size_t { previous, earlier, neighbour };
constexpr std::size_t kFamilies = 3;

static_assert(std::endian::native == std::endian::little, "two bytes a word, the lower one first");
inline int byte_of(std::span<const std::uint16_t> words, std::size_t i) {
  return std::to_integer<int>(std::as_bytes(words)[i]);
}

/// The successors of one context.
struct Successors {
  std::span<const std::uint16_t> indices;    ///< the most frequent ones first, each once
  std::span<const std::uint16_t> following;  ///< the same and all that lies behind them
  std::span<const std::uint16_t> costs;      ///< of all contexts, two a word
  std::size_t first = 0;                     ///< where this context's costs begin
  int escape = 0;                            ///< cost of all other indices together

  std::size_t size() const { return indices.size(); }
  int cost(std::size_t i) const { return byte_of(costs, first + i); }
};

/// Where things lie in the words of tables:
///   codewords - 1, contexts - 1, weights (four bits a family), 0, the two expected costs,
///   then per family: successors of all contexts (two words; 0: the family is not used) and the
///   last context with a list
///   the cost of every index alone, two a word
///   per family in use: [those contexts + 1] ends (two words each), escape costs (two a word),
///   indices, costs (two a word)
class TableLayout {
 public:
  static constexpr std::size_t kHeaderWords = 15;

  explicit TableLayout(std::span<const std::uint16_t> words);

  /// Words that the header announces; what all else needs to be checked against.
  std::size_t size() const { return size_; }
  std::size_t codewords() const { return codewords_; }
  std::size_t contexts() const { return contexts_; }

  bool has(Family family) const { return count(family) > 0; }
  /// Quarters by which the family's evidence counts where another one's list is the base.
  int weight(Family family) const {
    return (words_[2] >> (4 * static_cast<std::size_t>(family))) & 0xF;
  }
  /// In units of 1 / kExpectedUnits bits.
  int expected(bool is_cross_layer) const { return words_[is_cross_layer ? 5 : 4]; }
  int cost_alone(std::size_t index) const { return byte_of(alone(), index); }
  Successors successors(Family family, std::size_t context) const;
  /// Throws Error for words that a decoder could not walk through.
  void check() const;

 private:
  struct Part {
    std::size_t begin = 0, contexts = 0, count = 0;
    std::size_t escapes() const { return begin + 2 * (contexts + 1); }
    std::size_t indices() const { return escapes() + (contexts + 1) / 2; }
    std::size_t costs() const { return indices() + count; }
    std::size_t end() const { return costs() + (count + 1) / 2; }
  };

  std::size_t count(Family family) const { return parts_[static_cast<std::size_t>(family)].count; }
  std::size_t wide(std::size_t at) const {
    return words_[at] | static_cast<std::size_t>(words_[at + 1]) << 16;
  }
  std::span<const std::uint16_t> alone() const { return words_.subspan(kHeaderWords); }
  void check(const Part& part) const;

  std::span<const std::uint16_t> words_;
  std::size_t codewords_ = 0, contexts_ = 0, size_ = 0;
  std::array<Part, kFamilies> parts_;
};

inline Successors TableLayout::successors(Family family, std::size_t context) const {
  const Part& part = parts_[static_cast<std::size_t>(family)];
  if (context >= part.contexts) return {};
  const std::size_t first = wide(part.begin + 2 * context);
  const std::size_t count = wide(part.begin + 2 * (context + 1)) - first;
  const std::span<const std::uint16_t> following = words_.subspan(part.indices() + first);
  return {.indices = following.first(count),
          .following = following,
          .costs = words_.subspan(part.costs()),
          .first = first,
          .escape = byte_of(words_.subspan(part.escapes()), context)};
}

}  // namespace thinwire::compress
