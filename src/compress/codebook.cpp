#include "thinwire/compress/codebook.hpp"

#include <algorithm>

namespace thinwire::compress {
namespace {

/// Below some ten microseconds of copying a second thread costs more than it saves.
constexpr Index kFloatsWorthThreads = Index{1} << 15;

void require_shapes(std::span<const Matrix<float>> groups) {
  TW_REQUIRE(!groups.empty(), "a codebook without groups");
  for (const Matrix<float>& group : groups)
    TW_REQUIRE(group.rows() == groups[0].rows() && group.cols() == groups[0].cols(),
               "groups of [{}, {}] and [{}, {}]", groups[0].rows(), groups[0].cols(), group.rows(),
               group.cols());
}

Matrix<float> make_table(const Matrix<float>& codewords, model::WeightPlace place) {
  Matrix<float> table(codewords.rows(), codewords.cols(), place.memory, Matrix<float>::Fill::none);
  if (place.packing == ops::Packing::write) copy(codewords.view(), table.view());
  return table;
}

}  // namespace

Codebook::Codebook(std::span<const Matrix<float>> groups, ops::Similarity similarity,
                   std::span<const Index> levels, Dequantise dequantise, model::WeightPlace place) {
  require_shapes(groups);
  searches_.reserve(groups.size());
  for (const Matrix<float>& group : groups)
    searches_.emplace_back(group.view(), similarity, levels, place.memory, place.packing);
  if (dequantise == Dequantise::no) return;
  tables_.reserve(groups.size());
  for (const Matrix<float>& group : groups) tables_.push_back(make_table(group, place));
}

Index Codebook::codewords() const {
  return searches_[0].codewords(searches_[0].levels() - 1);
}

Index Codebook::hidden() const {
  return groups() * searches_[0].width();
}

Index Codebook::scratch_floats(Index rows, int level) const {
  return ops::NearestCodeword::scratch_floats(rows, searches_[0].width(),
                                              searches_[0].codewords(level));
}

void Codebook::nearest(MatrixView<const float> x, int level, std::span<float> scratch,
                       std::span<std::int32_t> indices, Operations& counted) const {
  TW_REQUIRE(x.cols() == hidden() && std::ssize(indices) == x.rows() * groups(),
             "{} indices for rows [{}, {}] in {} groups of a codebook of width {}", indices.size(),
             x.rows(), x.cols(), groups(), hidden());
  if (x.rows() == 0) return;
  const Index width = searches_[0].width();
  for (Index group = 0; group < groups(); ++group) {
    const auto g = static_cast<std::size_t>(group);
    // Row i's index of this group is the g-th of its run of G.
    searches_[g](x.cols(group * width, width), level, scratch, indices.subspan(g), groups(),
                 counted);
  }
}

void Codebook::nearest_to(const Codebook& before, int level,
                          std::span<std::int32_t> indices) const {
  TW_REQUIRE(before.groups() == groups() && before.hidden() == hidden(),
             "{} groups of a codebook of width {} after {} of width {}", groups(), hidden(),
             before.groups(), before.hidden());
  Operations uncounted;
  for (std::size_t g = 0; g < searches_.size(); ++g) {
    const Matrix<float> codewords = before.searches_[g].unpacked(level);
    TW_REQUIRE(std::ssize(indices) == codewords.rows() * groups(), "{} indices for {} codewords",
               indices.size(), codewords.rows());
    Matrix<float> scratch(1, scratch_floats(codewords.rows(), level));
    searches_[g](codewords.view(), level, scratch.view().elements(), indices.subspan(g), groups(),
                 uncounted);
  }
}

void Codebook::lookup(std::span<const std::int32_t> indices, MatrixView<float> rows) const {
  TW_REQUIRE(!tables_.empty(), "a codebook of {} codewords was made for searching alone",
             codewords());
  TW_REQUIRE(rows.cols() == hidden() && std::ssize(indices) == rows.rows() * groups(),
             "{} indices for rows [{}, {}] in {} groups of a codebook of width {}", indices.size(),
             rows.rows(), rows.cols(), groups(), hidden());
  const Index count = groups(), width = tables_[0].cols();
#pragma omp parallel for schedule(static) if (rows.size() >= kFloatsWorthThreads)
  for (Index row = 0; row < rows.rows(); ++row)
    for (Index g = 0; g < count; ++g) {
      const Index index = indices[static_cast<std::size_t>(row * count + g)];
      std::copy_n(&tables_[static_cast<std::size_t>(g)](index, 0), width, &rows(row, g * width));
    }
}

}  // namespace thinwire::compress
