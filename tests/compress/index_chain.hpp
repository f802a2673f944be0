#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "thinwire/base/random.hpp"
#include "thinwire/compress/index_tables.hpp"

namespace thinwire::compress {

using ChainIndices = std::vector<std::int32_t>;

/// Frames of three exchanges whose indices mostly follow from those of the exchange before: what
/// tables are good for. Seeded.
class IndexChain {
 public:
  IndexChain(Index codewords, std::uint64_t seed)
      : codewords_(static_cast<std::uint64_t>(codewords)), random_("index_chain", seed) {}

  struct Frames {
    ChainIndices earlier, previous, indices;
    KnownIndices known() const { return {.previous = previous, .earlier = earlier}; }
  };

  Frames next(std::size_t count) {
    Frames frames;
    for (std::size_t i = 0; i < count; ++i) {
      frames.earlier.push_back(follow(i % 2 == 0 ? below(codewords_) : 3));
      frames.previous.push_back(follow(static_cast<std::uint64_t>(frames.earlier[i])));
      frames.indices.push_back(follow(static_cast<std::uint64_t>(frames.previous[i])));
    }
    return frames;
  }

  std::uint64_t below(std::uint64_t limit) { return random_.bits(next_++) % limit; }

 private:
  /// One of four usual successors, seldom any index at all.
  std::int32_t follow(std::uint64_t index) {
    const std::uint64_t step = below(20) == 0 ? below(codewords_) : below(4) * below(2);
    return static_cast<std::int32_t>((index * 7 + step) % codewords_);
  }

  std::uint64_t codewords_, next_ = 0;
  RandomStream random_;
};

inline IndexStatistics chain_statistics(Index codewords, Index contexts, int frames,
                                        std::uint64_t seed = 1) {
  IndexStatistics statistics(codewords, contexts);
  IndexChain chain(codewords, seed);
  for (int i = 0; i < frames; ++i) {
    const IndexChain::Frames next = chain.next(33);
    statistics.add(next.indices, next.known());
  }
  return statistics;
}

inline ChainIndices random_chain_indices(IndexChain& chain, std::size_t count, Index codewords) {
  ChainIndices indices(count);
  std::ranges::generate(indices, [&] {
    return static_cast<std::int32_t>(chain.below(static_cast<std::uint64_t>(codewords)));
  });
  return indices;
}

}  // namespace thinwire::compress
