#include "thinwire/train/kmeans.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "thinwire/base/random.hpp"
#include "thinwire/train/candidate_rows.hpp"

namespace thinwire::train {
namespace {

using ops::Similarity;

// Rows that one search codes at once; bounds its scratch.
constexpr Index kSearchRows = 4096;

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

float squared_distance(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// Draws the codewords of k-means++ one after the other. Every rank proposes one of its rows; which
/// rank's proposal is taken goes by the ranks' total distances, so one meeting a codeword does.
class Seeding {
 public:
  Seeding(MatrixView<const float> rows, const KMeansOptions& options, fabric::Transport& ranks)
      : rows_(rows),
        options_(options),
        ranks_(ranks),
        within_(fmt::format("{}.rank{}", options.stream, ranks.rank()), options.seed),
        between_(fmt::format("{}.ranks", options.stream), options.seed),
        distances_(static_cast<std::size_t>(rows.rows()), 1.0) {}

  Matrix<float> operator()() {
    Matrix<float> codewords(options_.codewords, rows_.cols());
    for (Index k = 0; k < options_.codewords; ++k) {
      const std::vector<float> row = draw(static_cast<std::uint64_t>(k));
      std::ranges::copy(row, codewords.view().row(k).begin());
      approach(codewords.view().row(k), k == 0);
    }
    return codewords;
  }

 private:
  /// The distances shrink to that from `codeword`, where it is nearer.
  void approach(std::span<const float> codeword, bool is_first) {
#pragma omp parallel for schedule(static)
    for (Index r = 0; r < rows_.rows(); ++r) {
      double& nearest = distances_[static_cast<std::size_t>(r)];
      const double found = distance(rows_.row(r), codeword, options_.similarity);
      nearest = is_first ? found : std::min(nearest, found);
    }
  }

  std::vector<float> draw(std::uint64_t number) {
    const double total = std::accumulate(distances_.begin(), distances_.end(), 0.0);
    // Without any distance left all rows are coded exactly; one of them is as good as another.
    const bool is_exact = total <= 0;
    const std::vector<double> even(is_exact ? distances_.size() : 0, 1.0);
    const auto& weights = is_exact ? even : distances_;
    const double share = within_.uniform(number);
    const std::size_t row = pick(weights, is_exact ? double(even.size()) : total, share);

    Proposal mine{total, is_exact ? double(even.size()) : 0.0};
    std::vector<std::byte> bytes(sizeof mine);
    std::memcpy(bytes.data(), &mine, sizeof mine);
    if (!weights.empty()) {
      const auto values = std::as_bytes(rows_.row(static_cast<Index>(row)));
      bytes.insert(bytes.end(), values.begin(), values.end());
    }
    return choose(fabric::gather_all(ranks_, bytes), between_.uniform(number));
  }

  struct Proposal {
    double distance = 0;  ///< total of the rank's rows
    double rows = 0;      ///< their number, when all of them are coded exactly
  };

  /// The row of the rank in whose share of the total `share` falls.
  std::vector<float> choose(const std::vector<std::vector<std::byte>>& proposals, double share) {
    std::vector<double> totals, counts;
    for (const std::vector<std::byte>& bytes : proposals) {
      Proposal proposal;
      std::memcpy(&proposal, bytes.data(), sizeof proposal);
      totals.push_back(proposal.distance);
      counts.push_back(proposal.rows);
    }
    double total = std::accumulate(totals.begin(), totals.end(), 0.0);
    if (total <= 0) {
      totals = counts;
      total = std::accumulate(totals.begin(), totals.end(), 0.0);
    }
    const std::vector<std::byte>& chosen = proposals[pick(totals, total, share)];
    std::vector<float> row(static_cast<std::size_t>(rows_.cols()));
    TW_REQUIRE(chosen.size() == sizeof(Proposal) + row.size() * sizeof(float),
               "a rank without rows was drawn");
    std::memcpy(row.data(), chosen.data() + sizeof(Proposal), row.size() * sizeof(float));
    return row;
  }

  /// The element in which `share` (0 to 1) of the total falls: the last positive one at most.
  static std::size_t pick(std::span<const double> weights, double total, double share) {
    std::size_t last = 0;
    double left = share * total;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] <= 0) continue;
      last = i;
      left -= weights[i];
      if (left < 0) break;
    }
    return last;
  }

  MatrixView<const float> rows_;
  const KMeansOptions& options_;
  fabric::Transport& ranks_;
  RandomStream within_, between_;
  std::vector<double> distances_;
};

std::vector<std::int32_t> assign(MatrixView<const float> rows, MatrixView<const float> codewords,
                                 Similarity similarity) {
  const std::vector<Index> levels{codewords.rows()};
  const ops::NearestCodeword nearest(codewords, similarity, levels,
                                     std::pmr::new_delete_resource());
  const Index block = std::min(kSearchRows, rows.rows());
  std::vector<float> scratch(static_cast<std::size_t>(
      ops::NearestCodeword::scratch_floats(block, rows.cols(), codewords.rows())));
  std::vector<std::int32_t> codes(static_cast<std::size_t>(rows.rows()));
  Operations ignored;
  for (Index begin = 0; begin < rows.rows(); begin += block) {
    const Index count = std::min(block, rows.rows() - begin);
    nearest(
        rows.rows(begin, count), 0, scratch,
        std::span(codes).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
        1, ignored);
  }
  return codes;
}

/// This rank's rows that are farthest from their codewords.
CandidateRows worst_coded(MatrixView<const float> rows, MatrixView<const float> codewords,
                          std::span<const std::int32_t> codes, Similarity similarity,
                          Index capacity) {
  CandidateRows worst(capacity);
  if (!worst.is_open()) return worst;
  for (Index r = 0; r < rows.rows(); ++r)
    worst.offer(
        distance(rows.row(r), codewords.row(codes[static_cast<std::size_t>(r)]), similarity),
        rows.row(r));
  return worst;
}

void set_codeword(Clusters& clusters, Index k, std::span<const float> row) {
  clusters.statistics.counts[static_cast<std::size_t>(k)] = 1;
  std::ranges::copy(row, clusters.codewords.view().row(k).begin());
  std::ranges::copy(row, clusters.statistics.sums.view().row(k).begin());
}

void set_means(Clusters& clusters) {
  for (Index k = 0; k < clusters.codewords.rows(); ++k) {
    const double count = clusters.statistics.counts[static_cast<std::size_t>(k)];
    if (count == 0) continue;
    for (Index c = 0; c < clusters.codewords.cols(); ++c)
      clusters.codewords(k, c) = static_cast<float>(clusters.statistics.sums(k, c) / count);
  }
}

void lloyd_iteration(MatrixView<const float> rows, const KMeansOptions& options,
                     fabric::Transport& ranks, Clusters& clusters) {
  const std::vector<std::int32_t> codes =
      assign(rows, std::as_const(clusters.codewords).view(), options.similarity);
  clusters.statistics = CodeStatistics(options.codewords, rows.cols());
  for (Index r = 0; r < rows.rows(); ++r)
    clusters.statistics.add(rows.row(r), codes[static_cast<std::size_t>(r)]);
  clusters.statistics.reduce(ranks);

  const auto empty = std::ranges::count(clusters.statistics.counts, 0.0);
  CandidateRows worst =
      worst_coded(rows, std::as_const(clusters.codewords).view(), codes, options.similarity, empty);
  worst.reduce(ranks);
  set_means(clusters);
  const std::vector<CandidateRows::Row> seeds = worst.best();
  auto seed = seeds.begin();
  for (Index k = 0; k < options.codewords && seed != seeds.end(); ++k)
    if (clusters.statistics.counts[static_cast<std::size_t>(k)] == 0)
      set_codeword(clusters, k, (seed++)->values);
}

}  // namespace

double distance(std::span<const float> row, std::span<const float> codeword,
                Similarity similarity) {
  if (similarity == Similarity::squared) return squared_distance(row, codeword);
  const double norms = std::sqrt(double{dot(row, row)} * double{dot(codeword, codeword)});
  if (norms == 0) return dot(row, row) == 0 ? 0 : 1;
  return std::max(0.0, 1 - dot(row, codeword) / norms);
}

Matrix<float> seed_codewords(MatrixView<const float> rows, const KMeansOptions& options,
                             fabric::Transport& ranks) {
  return Seeding(rows, options, ranks)();
}

Clusters kmeans(MatrixView<const float> rows, const KMeansOptions& options,
                fabric::Transport& ranks) {
  auto total = static_cast<double>(rows.rows());
  sum_over_ranks(ranks, std::span(&total, 1));
  TW_REQUIRE(total >= static_cast<double>(options.codewords), "k-means of {} rows into {} clusters",
             total, options.codewords);
  Clusters clusters{seed_codewords(rows, options, ranks), {}};
  for (int iteration = 0; iteration < options.iterations; ++iteration)
    lloyd_iteration(rows, options, ranks, clusters);
  return clusters;
}

}  // namespace thinwire::train
