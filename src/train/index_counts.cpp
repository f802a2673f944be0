#include "thinwire/train/index_counts.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "thinwire/compress/codebook_writer.hpp"
#include "thinwire/compress/index_tables.hpp"

namespace thinwire::train {
namespace {

/// Of a sender's whole frames, in the order of the exchanges.
class IndexObserver final : public CalibrationObserver {
 public:
  IndexObserver(IndexCounts counts, int level) : counts_(std::move(counts)), level_(level) {}
  const IndexCounts& counts() const { return counts_; }

  void begin(const model::ModelInput& /*input*/, Slice /*own*/) override {
    previous_.clear();
    earlier_.clear();
  }

  void on_quantised(Index exchange, MatrixView<const float> /*rows*/,
                    std::span<const std::int32_t> indices) override {
    const Index groups = counts_.use().groups;
    for (Index group = 0; group < groups; ++group)
      counts_.at(exchange, level_, group)
          .add(indices, {.previous = previous_, .earlier = earlier_}, group, groups);
    std::swap(previous_, earlier_);
    previous_.assign(indices.begin(), indices.end());
  }

 private:
  IndexCounts counts_;
  int level_;
  std::vector<std::int32_t> previous_, earlier_;  // of the exchanges before; empty: none
};

/// Rows that fill the tables of a level: this many a pair of indices.
Index rows_worth_counting(Index codewords) {
  constexpr Index kRowsPerPair = 64;
  return kRowsPerPair * codewords * codewords;
}

/// Samples that go through one set of strategies: few enough to be held at once.
constexpr Index kSamplesAtOnce = 64;

/// This rank's next samples, from number `next` on, which moves.
std::vector<model::ModelInput> load_some(const SampleSource& samples, Index& next, Index step) {
  std::vector<model::ModelInput> inputs;
  for (Index i = 0; i < kSamplesAtOnce && next < samples.samples(); ++i, next += step)
    std::ranges::move(samples.load(next), std::back_inserter(inputs));
  return inputs;
}

Index count_rows(std::span<const model::ModelInput> inputs, const model::ModelConfig& config) {
  Index rows = 0;
  for (const model::ModelInput& input : inputs) rows += input.tokens(config);
  return rows;
}

std::vector<std::int32_t> integers_of(std::span<const std::byte> bytes) {
  std::vector<std::int32_t> integers(bytes.size() / sizeof(std::int32_t));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(integers)).begin());
  return integers;
}

}  // namespace

IndexCounts::IndexCounts(const compress::CodebookUse& use, Index layers,
                         std::span<const Index> levels)
    : use_(use), layers_(layers), levels_(static_cast<int>(levels.size())) {
  for (Index exchange = 0; exchange < layers; ++exchange)
    for (const Index codewords : levels)
      for (Index group = 0; group < use.groups; ++group)
        counts_.emplace_back(codewords, levels.back());
}

IndexCounts& IndexCounts::operator+=(const IndexCounts& other) {
  TW_REQUIRE(counts_.size() == other.counts_.size(), "counts of {} tables added to {}",
             other.counts_.size(), counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i].merge(other.counts_[i].flat());
  return *this;
}

void IndexCounts::reduce(fabric::Transport& ranks) {
  if (ranks.size() == 1) return;
  for (compress::IndexStatistics& counts : counts_) {
    const std::vector<std::int32_t> mine = counts.flat();
    const auto all = fabric::gather_all(ranks, std::as_bytes(std::span(mine)));
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      if (static_cast<int>(rank) != ranks.rank()) counts.merge(integers_of(all[rank]));
  }
}

IndexCounts count_indices(const model::Model& model, const CalibrationSetting& setting,
                          const compress::CodebookSet& codebooks, const SampleSource& samples,
                          fabric::Transport& ranks, const std::function<void(double)>& on_part) {
  const std::span<const Index> levels = codebooks.levels();
  const IndexCounts none(codebooks.use(), model.config().layers, levels);
  IndexCounts all = none;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const Index enough = rows_worth_counting(levels[level]) / ranks.size();
    std::vector<IndexObserver> devices(static_cast<std::size_t>(setting.devices),
                                       IndexObserver(none, static_cast<int>(level)));
    Index next = ranks.rank();
    for (Index rows = 0; rows <= enough && next < samples.samples();) {
      const std::vector<model::ModelInput> inputs = load_some(samples, next, ranks.size());
      run_calibration(model, setting, codebooks, static_cast<int>(level), inputs, pointers(devices),
                      {});
      rows += count_rows(inputs, model.config());
      const double part = static_cast<double>(next) / static_cast<double>(samples.samples());
      if (on_part)
        on_part((static_cast<double>(level) + std::min(part, 1.0)) /
                static_cast<double>(levels.size()));
    }
    for (const IndexObserver& device : devices) all += device.counts();
  }
  all.reduce(ranks);
  return all;
}

void write_index_tables(const std::filesystem::path& from, const IndexCounts& counts,
                        const std::map<std::string, std::string>& more,
                        const std::filesystem::path& to) {
  compress::CodebookWriter writer;
  for (Index exchange = 0; exchange < counts.layers(); ++exchange) {
    if (!counts.use().codes(exchange)) continue;
    for (int level = 0; level < counts.levels(); ++level)
      for (Index group = 0; group < counts.use().groups; ++group)
        writer.add_index_tables(counts.use(), exchange, group, level,
                                compress::IndexTables(counts.at(exchange, level, group)));
  }
  writer.add_rest_of(SafetensorsFile(from));
  for (const auto& [key, value] : more) writer.add_metadata(key, value);
  writer.write(to);
}

}  // namespace thinwire::train
