#include "thinwire/train/codebook_quality.hpp"

#include <algorithm>
#include <cmath>

#include "thinwire/train/kmeans.hpp"

namespace thinwire::train {
namespace {

/// What one codebook did on one level.
struct Tally {
  std::vector<std::int64_t> hits;  // [K]
  double error = 0;                // sum of distances
  double scale = 0;                // rows, or the sum of their squares
  std::int64_t rows = 0;

  void operator+=(const Tally& other) {
    std::ranges::transform(hits, other.hits, hits.begin(), std::plus{});
    error += other.error;
    scale += other.scale;
    rows += other.rows;
  }
};

double squares(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += double{value} * double{value};
  return sum;
}

/// Tallies one device's rows, by codebook.
class QualityObserver final : public RowObserver {
 public:
  /// codewords [exchange * groups + group], empty where rows are sent raw
  QualityObserver(const compress::CodebookUse& use, std::span<const Matrix<float>> codewords)
      : use_(use), codewords_(codewords) {
    for (const Matrix<float>& codebook : codewords)
      tallies_.push_back({std::vector<std::int64_t>(static_cast<std::size_t>(codebook.rows()))});
  }
  const std::vector<Tally>& tallies() const { return tallies_; }

 private:
  void on_row(Index exchange, std::span<const float> row,
              std::span<const std::int32_t> codes) override {
    const std::size_t width = row.size() / codes.size();
    for (std::size_t group = 0; group < codes.size(); ++group) {
      const std::size_t number = codebook_number(use_, exchange, static_cast<Index>(group));
      const std::span<const float> part = row.subspan(group * width, width);
      Tally& tally = tallies_[number];
      ++tally.hits[static_cast<std::size_t>(codes[group])];
      ++tally.rows;
      tally.error +=
          distance(part, codewords_[number].view().row(codes[group]), similarity_of(use_));
      tally.scale += use_.is_squared() ? squares(part) : 1;
    }
  }

  const compress::CodebookUse& use_;
  std::span<const Matrix<float>> codewords_;
  std::vector<Tally> tallies_;
};

double perplexity(const Tally& tally) {
  double entropy_bits = 0;
  for (const std::int64_t hits : tally.hits) {
    const double share = static_cast<double>(hits) / static_cast<double>(tally.rows);
    if (hits > 0) entropy_bits -= share * std::log2(share);
  }
  return std::exp2(entropy_bits);
}

ExchangeQuality quality_of(std::span<const Tally> groups) {
  ExchangeQuality quality;
  double error = 0;
  double scale = 0;
  for (const Tally& group : groups) {
    quality.rows = group.rows;
    quality.used += static_cast<double>(
        std::ranges::count_if(group.hits, [](std::int64_t hits) { return hits > 0; }));
    quality.perplexity += group.rows > 0 ? perplexity(group) : 0;
    error += group.error;
    scale += group.scale;
  }
  quality.used /= static_cast<double>(groups.size());
  quality.perplexity /= static_cast<double>(groups.size());
  quality.distortion = scale > 0 ? error / scale : 0;
  return quality;
}

std::vector<Matrix<float>> read_codewords(const compress::CodebookUse& use, Index layers,
                                          compress::CodebookSource& source) {
  std::vector<Matrix<float>> codewords;
  for (Index exchange = 0; exchange < layers; ++exchange)
    for (Index group = 0; group < use.groups; ++group)
      codewords.push_back(use.codes(exchange) ? source.values(exchange, group) : Matrix<float>());
  return codewords;
}

}  // namespace

std::vector<ExchangeQuality> measure_quality(const model::Model& model,
                                             const CalibrationSetting& setting,
                                             const compress::CodebookSet& codebooks,
                                             compress::CodebookSource& source,
                                             std::span<const model::ModelInput> inputs,
                                             const std::function<void(double)>& on_part) {
  const compress::CodebookUse& use = codebooks.use();
  const Index layers = model.config().layers;
  const std::vector<Matrix<float>> codewords = read_codewords(use, layers, source);
  const auto levels = static_cast<int>(codebooks.levels().size());
  const double passes = static_cast<double>(inputs.size()) * levels;
  double done = 0;
  std::vector<ExchangeQuality> qualities;
  for (int level = 0; level < levels; ++level) {
    std::vector<QualityObserver> devices(static_cast<std::size_t>(setting.devices),
                                         QualityObserver(use, codewords));
    run_calibration(model, setting, codebooks, level, inputs, pointers(devices), [&] {
      if (on_part) on_part(++done / passes);
    });
    std::vector<Tally> tallies = devices.front().tallies();
    for (std::size_t p = 1; p < devices.size(); ++p)
      for (std::size_t i = 0; i < tallies.size(); ++i) tallies[i] += devices[p].tallies()[i];
    for (Index exchange = 0; exchange < layers; ++exchange) {
      if (!use.codes(exchange)) continue;
      ExchangeQuality& quality = qualities.emplace_back(quality_of(std::span(tallies).subspan(
          codebook_number(use, exchange, 0), static_cast<std::size_t>(use.groups))));
      quality.exchange = exchange;
      quality.level = level;
      quality.codewords = codebooks.levels()[static_cast<std::size_t>(level)];
    }
  }
  std::ranges::stable_sort(qualities, {}, &ExchangeQuality::exchange);
  return qualities;
}

}  // namespace thinwire::train
