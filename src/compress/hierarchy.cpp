#include "thinwire/compress/hierarchy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {
namespace {

constexpr std::array<std::string_view, 3> kDissimilarityNames = {"euclidean", "cosine", "usage"};
constexpr std::array<Index, 4> kCoarseLevels = {2, 4, 8, 32};

/// Medoids settle within some ten rounds; among equal distances they could go round in circles.
constexpr int kMostRounds = 100;

/// Code numbers, or positions in a list of them; ascending.
using Codes = std::vector<std::int32_t>;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

// Sums are double: a hierarchy made here is then the same as one made in exact arithmetic but for
// ties, and no number of threads changes an order of summation.

double euclidean_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  const float *pa = a.data(), *pb = b.data();
  const auto size = std::ssize(a);
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t c = 0; c < size; ++c) {
    const double difference = double{pa[c]} - double{pb[c]};
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

double product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  const float *pa = a.data(), *pb = b.data();
  const auto size = std::ssize(a);
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t c = 0; c < size; ++c) sum += double{pa[c]} * double{pb[c]};
  return sum;
}

/// Calls distance(i, j) for every pair i < j, on several threads; K^2 values are kept.
template <class Distance>
Matrix<float> all_pairs(Index count, const Distance& distance) {
  Matrix<float> distances(count, count);
#pragma omp parallel for schedule(dynamic, 8)
  for (Index i = 0; i < count; ++i)
    for (Index j = i + 1; j < count; ++j)
      distances(i, j) = distances(j, i) = static_cast<float>(distance(i, j));
  return distances;
}

Matrix<float> cosine_dissimilarities(MatrixView<const float> codewords) {
  std::vector<double> norms;
  for (Index k = 0; k < codewords.rows(); ++k)
    norms.push_back(std::sqrt(product(codewords.row(k), codewords.row(k))));
  return all_pairs(codewords.rows(), [&](Index i, Index j) {
    const double scale = norms[at(i)] * norms[at(j)];
    return scale == 0 ? 1.0 : 1.0 - product(codewords.row(i), codewords.row(j)) / scale;
  });
}

Matrix<float> dissimilarities(MatrixView<const float> codewords, Dissimilarity by,
                              std::span<const std::int64_t> usage) {
  switch (by) {
    case Dissimilarity::cosine:
      return cosine_dissimilarities(codewords);
    case Dissimilarity::usage:
      return all_pairs(codewords.rows(), [&](Index i, Index j) {
        return static_cast<double>(std::abs(usage[at(i)] - usage[at(j)]));
      });
    case Dissimilarity::euclidean:
      break;
  }
  return all_pairs(codewords.rows(), [&](Index i, Index j) {
    return euclidean_distance(codewords.row(i), codewords.row(j));
  });
}

/// What all points pay when each goes to `row`'s point or stays with its nearest medoid so far.
double cost_with(std::span<const float> row, std::span<const float> nearest) {
  double sum = 0;
  const float *distance = row.data(), *before = nearest.data();
  const auto size = std::ssize(row);
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t j = 0; j < size; ++j)
    sum += distance[j] < before[j] ? distance[j] : before[j];
  return sum;
}

/// The first of the smallest costs among points that are not taken. Distances that are no numbers
/// leave the first such point, so that medoids are distinct whatever the codewords hold.
Index cheapest(std::span<const double> costs, std::span<const std::uint8_t> taken) {
  Index best = -1;
  for (Index c = 0; c < std::ssize(costs); ++c)
    if (taken[at(c)] == 0 && (best < 0 || costs[at(c)] < costs[at(best)])) best = c;
  return best;
}

/// Greedy BUILD: the medoid that lowers the total distance most, `count` times.
Codes build(MatrixView<const float> distances, Index count) {
  const Index points = distances.rows();
  std::vector<float> nearest(at(points), std::numeric_limits<float>::infinity());
  std::vector<double> costs(at(points));
  std::vector<std::uint8_t> taken(at(points), 0);
  for (Index found = 0; found < count; ++found) {
#pragma omp parallel for schedule(static)
    for (Index c = 0; c < points; ++c) costs[at(c)] = cost_with(distances.row(c), nearest);
    const Index best = cheapest(costs, taken);
    taken[at(best)] = 1;
    for (Index j = 0; j < points; ++j)
      nearest[at(j)] = std::min(nearest[at(j)], distances(best, j));
  }
  Codes medoids;
  for (Index c = 0; c < points; ++c)
    if (taken[at(c)] != 0) medoids.push_back(static_cast<std::int32_t>(c));
  return medoids;
}

/// The points of each medoid's cluster, ascending. A medoid stays in its own cluster, also beside
/// another at distance 0: no cluster is empty.
std::vector<Codes> assign(MatrixView<const float> distances, const Codes& medoids) {
  std::vector<std::size_t> cluster(at(distances.rows()), 0);
  for (Index point = 0; point < distances.rows(); ++point)
    for (std::size_t m = 1; m < medoids.size(); ++m)
      if (distances(point, medoids[m]) < distances(point, medoids[cluster[at(point)]]))
        cluster[at(point)] = m;
  for (std::size_t m = 0; m < medoids.size(); ++m) cluster[at(medoids[m])] = m;

  std::vector<Codes> members(medoids.size());
  for (Index point = 0; point < distances.rows(); ++point)
    members[cluster[at(point)]].push_back(static_cast<std::int32_t>(point));
  return members;
}

/// The member with the smallest total distance to the others.
std::int32_t medoid_of(MatrixView<const float> distances, const Codes& members) {
  std::int32_t best = members.front();
  double least = std::numeric_limits<double>::infinity();
  for (const std::int32_t candidate : members) {
    double cost = 0;
    for (const std::int32_t member : members) cost += double{distances(candidate, member)};
    if (cost < least) {
      least = cost;
      best = candidate;
    }
  }
  return best;
}

Codes k_medoids(MatrixView<const float> distances, Index count) {
  Codes medoids = build(distances, count);
  for (int round = 0; round < kMostRounds; ++round) {
    Codes updated;
    for (const Codes& members : assign(distances, medoids))
      updated.push_back(medoid_of(distances, members));
    std::ranges::sort(updated);
    if (updated == medoids) break;
    medoids = std::move(updated);
  }
  return medoids;
}

/// The medoids of `codes`, chosen among them and clustering them alone.
Codes coarser(MatrixView<const float> distances, const Codes& codes, Index count) {
  Matrix<float> among(std::ssize(codes), std::ssize(codes));
  for (Index i = 0; i < among.rows(); ++i)
    for (Index j = 0; j < among.cols(); ++j) among(i, j) = distances(codes[at(i)], codes[at(j)]);
  Codes chosen;
  for (const std::int32_t position : k_medoids(among.view(), count))
    chosen.push_back(codes[at(position)]);
  return chosen;
}

void check_levels(std::span<const Index> levels, Index codewords) {
  const bool ascends = std::ranges::adjacent_find(levels, std::greater_equal<>()) == levels.end();
  require_input(!levels.empty() && levels.front() >= 2 && ascends && levels.back() == codewords,
                "levels={}: sizes must ascend from 2 or more to {}, the number of codewords",
                fmt::join(levels, ","), codewords);
}

}  // namespace

Dissimilarity parse_dissimilarity(std::string_view name) {
  return static_cast<Dissimilarity>(name_index("dissimilarity", name, kDissimilarityNames));
}

std::string_view to_string(Dissimilarity dissimilarity) {
  return kDissimilarityNames[static_cast<std::size_t>(dissimilarity)];
}

std::vector<Index> default_levels(Index codewords) {
  TW_REQUIRE(codewords >= 2, "{} codewords (a level has two or more)", codewords);
  std::vector<Index> levels;
  for (const Index size : kCoarseLevels)
    if (size < codewords) levels.push_back(size);
  levels.push_back(codewords);
  return levels;
}

std::vector<std::int32_t> build_hierarchy(MatrixView<const float> codewords,
                                          std::span<const Index> levels,
                                          Dissimilarity dissimilarity,
                                          std::span<const std::int64_t> usage) {
  check_levels(levels, codewords.rows());
  TW_REQUIRE(dissimilarity != Dissimilarity::usage || std::ssize(usage) == codewords.rows(),
             "{} usage counts for {} codewords", usage.size(), codewords.rows());
  const Matrix<float> distances = dissimilarities(codewords, dissimilarity, usage);

  Codes level(at(codewords.rows()));
  for (std::size_t k = 0; k < level.size(); ++k) level[k] = static_cast<std::int32_t>(k);
  // Coarsest levels come first, so the permutation grows from its end.
  Codes permutation(level.size());
  auto end = permutation.end();
  for (std::size_t m = levels.size() - 1; m > 0; --m) {
    Codes coarse = coarser(distances.view(), level, levels[m - 1]);
    const auto added = static_cast<std::ptrdiff_t>(level.size() - coarse.size());
    end -= added;
    std::ranges::set_difference(level, coarse, end);
    level = std::move(coarse);
  }
  std::ranges::copy(level, permutation.begin());
  return permutation;
}

}  // namespace thinwire::compress
