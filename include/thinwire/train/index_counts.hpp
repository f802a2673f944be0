#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/index_statistics.hpp"
#include "thinwire/fabric/transport.hpp"
#include "thinwire/train/trainer.hpp"

namespace thinwire::train {

/// How often the indices of a codebook set occur and follow each other, for all its exchanges,
/// levels and groups: what its tables of indices are made of.
class IndexCounts {
 public:
  /// levels: sizes, ascending
  IndexCounts(const compress::CodebookUse& use, Index layers, std::span<const Index> levels);

  const compress::CodebookUse& use() const { return use_; }
  Index layers() const { return layers_; }
  int levels() const { return levels_; }
  compress::IndexStatistics& at(Index exchange, int level, Index group) {
    return counts_[number(exchange, level, group)];
  }
  const compress::IndexStatistics& at(Index exchange, int level, Index group) const {
    return counts_[number(exchange, level, group)];
  }
  IndexCounts& operator+=(const IndexCounts& other);
  /// Of all ranks together. Collective.
  void reduce(fabric::Transport& ranks);

 private:
  std::size_t number(Index exchange, int level, Index group) const {
    return static_cast<std::size_t>((exchange * levels_ + level) * use_.groups + group);
  }

  compress::CodebookUse use_;
  Index layers_;
  int levels_;
  std::vector<compress::IndexStatistics> counts_;  // [(exchange * levels + level) * groups + group]
};

/// Runs the strategy as it is deployed, on every level, and counts what devices send: all rows,
/// those of padding too. Coarse levels, whose tables are small, take the first samples alone. Ranks
/// share the samples, every R-th each. Collective; all ranks get the same counts.
///   on_part  told the part that is done, 0 to 1; may be empty
IndexCounts count_indices(const model::Model& model, const CalibrationSetting& setting,
                          const compress::CodebookSet& codebooks, const SampleSource& samples,
                          fabric::Transport& ranks, const std::function<void(double)>& on_part);

/// Writes the codebook file `from` with the tables that `counts` give, in place of those that it
/// may have for the same use, and with `more` as metadata. `to` may be the same file.
void write_index_tables(const std::filesystem::path& from, const IndexCounts& counts,
                        const std::map<std::string, std::string>& more,
                        const std::filesystem::path& to);

}  // namespace thinwire::train
