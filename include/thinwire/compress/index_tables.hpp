#pragma once
#include <cstdint>
#include <span>

#include "thinwire/compress/index_coding.hpp"
#include "thinwire/compress/index_statistics.hpp"
#include "thinwire/model/embedding.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {

/// What frames of one exchange, group and level are coded by: how often each index occurs, and the
/// usual successors of each previous, earlier and neighbouring index, as far as they pay. All costs
/// are integers, rounded once from the statistics: every machine codes alike. Never written after
/// construction.
class IndexTables {
 public:
  /// Made from what was counted; every index keeps a finite cost, counted or not. No counts at all
  /// make every index alike.
  explicit IndexTables(const IndexStatistics& statistics);
  /// Tables of a file: `words` as words() gave them, copied to place.memory. With Packing::attach
  /// that memory holds them already and only the size of `words` is read.
  /// Throws Error for words that are no tables of this many codewords and contexts.
  IndexTables(std::span<const std::uint16_t> words, Index codewords, Index contexts,
              model::WeightPlace place);

  Index codewords() const { return codewords_; }
  Index contexts() const { return contexts_; }
  /// What a file stores.
  std::span<const std::uint16_t> words() const { return words_.view().elements(); }
  std::int64_t file_bytes() const { return static_cast<std::int64_t>(words_.bytes()); }
  /// The words, and the running sums that a decoder looks up in.
  std::int64_t memory_bytes() const {
    return file_bytes() + static_cast<std::int64_t>(sums_.bytes());
  }
  /// sums()[i] is the frequency of all indices below i together [codewords + 1].
  std::span<const std::uint32_t> sums() const { return sums_.view().elements(); }

 private:
  void add_up();

  Index codewords_ = 0, contexts_ = 0;
  Matrix<std::uint16_t> words_;  // [1, n], see index_table_layout.hpp
  Matrix<std::uint32_t> sums_;   // [1, codewords + 1]
};

/// Bits an index, without header and the frame's last byte.
struct IndexCost {
  double expected_bits = 0;  ///< of the counted indices, each coded as if it had not been counted
  double worst_bits = 0;     ///< on average over a frame: r, since longer frames are sent as fixed
};
/// With cross_layer as with entropy where there was no previous exchange.
IndexCost index_cost(const IndexTables& tables, IndexCoding coding);

}  // namespace thinwire::compress
