#include "thinwire/ops/attention.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "panel_product.hpp"
#include "softmax.hpp"
#include "thinwire/base/partition.hpp"

namespace thinwire::ops {
namespace {

/// A multiple of any machine's kTileColumns, so that the scratch's size is the same on all.
constexpr Index kPadding = 32;
static_assert(kPadding % kTileColumns == 0);
/// Queries that are worked on together: as many as any machine's tile has rows.
constexpr Index kBlockRows = 8;
static_assert(kTileRows <= kBlockRows);

Index padded(Index columns) {
  return (columns + kPadding - 1) / kPadding * kPadding;
}

/// Inline, where a call for so few bytes would take longer than they do.
void copy_tile_row(const float* from, float* to) noexcept {
  store(to, load(from));
  store(to + kVectorFloats, load(from + kVectorFloats));
}

void scale_tile_row(const float* from, float factor, float* to) noexcept {
  store(to, load(from) * factor);
  store(to + kVectorFloats, load(from + kVectorFloats) * factor);
}

/// The arguments of one call, and what its threads have to report: exceptions must not leave them.
struct Pass {
  MatrixView<const float> query;
  const KvContext& context;
  std::span<const std::int32_t> positions;
  MatrixView<float> output;
  std::atomic<Index> blind_row = -1;  // a query that sees no column
};

/// One head's keys and values as the tiles read them: panels of kTileColumns columns.
///   keys [panels][head_dim, kTileColumns], transposed   values [panels][columns, kTileColumns]
/// Columns that the last panel has too many are zero.
struct Head {
  Index columns, head_dim;
  float* keys;
  float* values;

  void pack(const KvContext& context, Index first_column) const;
};

void Head::pack(const KvContext& context, Index first_column) const {
  const MatrixView<const float> all_values = context.values();
  const MatrixView<const float> own_keys = context.keys().cols(first_column, head_dim);
  for (Index j = 0; j < columns; j += kTileColumns)
    pack_panel(own_keys.rows(j, std::min(kTileColumns, columns - j)), keys + j * head_dim);
  for (Index k0 = 0; k0 < head_dim; k0 += kTileColumns) {
    const Index count = std::min(kTileColumns, head_dim - k0);
    float* to = values + k0 * columns;
    for (Index j = 0; j < columns; ++j, to += kTileColumns) {
      const float* const from = all_values.row(j).data() + first_column + k0;
      if (count == kTileColumns) {
        copy_tile_row(from, to);
      } else {
        std::copy_n(from, count, to);
        std::fill_n(to + count, kTileColumns - count, 0.0F);
      }
    }
  }
}

/// What a score starts from, so that scale * score ends with log g; hides the padding.
///   starts [padded columns]
void list_starts(std::span<const float> log_counts, float scale, std::span<float> starts) noexcept {
  const auto padding = std::ranges::transform(log_counts, starts.begin(), [scale](float log_count) {
                         return log_count / scale;
                       }).out;
  std::fill(padding, starts.end(), -std::numeric_limits<float>::infinity());
}

/// One head's part of a pass, for queries that fit into one tile of products.
struct TileOfQueries {
  Pass& pass;
  const Head& head;
  Index first_column;   ///< of the head, among the hidden ones
  const float* starts;  ///< [padded columns]
  float scale;
  Slice rows;
  float* scores;  ///< [rows, padded columns], scratch

  Index stride() const { return padded(head.columns); }
  void score() const noexcept;
  template <Mask mask>
  void weigh_rows(std::span<float> factors) const noexcept;
  void mix(std::span<const float> factors) const noexcept;
};

void TileOfQueries::score() const noexcept {
  const MatrixView<const float> query = pass.query;
  for (Index j = 0; j < head.columns; j += kTileColumns) {
    ProductTile tile{query.row(rows.begin).data() + first_column,
                     query.stride(),
                     head.keys + j * head.head_dim,
                     head.head_dim,
                     scores + j,
                     stride(),
                     {load(starts + j), load(starts + j + kVectorFloats)}};
    tile.is_half = head.columns - j <= kVectorFloats;
    multiply_tile(rows.size, tile);
  }
}

/// Scores become weights, which times `factors` [rows] are probabilities.
template <Mask mask>
void TileOfQueries::weigh_rows(std::span<float> factors) const noexcept {
  const KeyColumns keys{starts, pass.context.last().data(), head.columns};
  for (Index r = 0; r < rows.size; ++r) {
    const Index row = rows.begin + r;
    const std::int32_t position =
        mask == Mask::causal ? pass.positions[static_cast<std::size_t>(row)] : 0;
    const std::optional<float> sum = weigh<mask>(scores + r * stride(), scale, keys, position);
    if (!sum) pass.blind_row = row;
    factors[static_cast<std::size_t>(r)] = 1.0F / sum.value_or(1.0F);
  }
}

/// Probabilities times values, to the head's columns of the output.
void TileOfQueries::mix(std::span<const float> factors) const noexcept {
  alignas(kVectorBytes) std::array<float, kTileRows * kTileColumns>
      mixed;  // every tile overwrites what is read of it
  for (Index k = 0; k < head.head_dim; k += kTileColumns) {
    multiply_tile(rows.size, {scores, stride(), head.values + k * head.columns, head.columns,
                              mixed.data(), kTileColumns});
    for (Index r = 0; r < rows.size; ++r) {
      const float factor = factors[static_cast<std::size_t>(r)];
      float* const from = mixed.data() + r * kTileColumns;
      float* const to = pass.output.row(rows.begin + r).data() + first_column + k;
      const bool is_whole = head.head_dim - k >= kTileColumns;
      scale_tile_row(from, factor, is_whole ? to : from);
      if (!is_whole) std::copy_n(from, head.head_dim - k, to);
    }
  }
}

/// How a thread's scratch is divided.
struct Scratch {
  Index keys, values, starts, scores;  // floats
  Scratch(Index head_dim, Index max_rows, Index max_columns)
      : keys(padded(max_columns) * head_dim),
        values(max_columns * padded(head_dim)),
        starts(padded(max_columns)),
        scores(std::min(max_rows, kBlockRows) * padded(max_columns)) {}
  Index floats() const { return keys + values + starts + scores; }
};

}  // namespace

struct Attention::Impl {
  Index heads, head_dim;
  Mask mask;
  Index max_rows, max_columns;
  int threads;
  Scratch parts;
  Matrix<float> scratch;  // [threads, parts.floats()]

  Index hidden() const { return heads * head_dim; }
  void check(MatrixView<const float> query, const KvContext& context,
             std::span<const std::int32_t> positions, MatrixView<const float> output) const;
  void attend(Pass& pass);
  void attend_share(Pass& pass, Slice share, float* own_scratch) const;
};

Attention::Attention(Index heads, Index head_dim, Mask mask, Index max_rows, Index max_columns,
                     int threads, std::pmr::memory_resource* memory) {
  TW_REQUIRE(heads > 0 && head_dim > 0 && max_rows > 0 && max_columns > 0 && threads > 0,
             "{} heads of {}, {} rows, {} columns, {} threads", heads, head_dim, max_rows,
             max_columns, threads);
  const Scratch parts(head_dim, max_rows, max_columns);
  impl_ = std::make_unique<Impl>(heads, head_dim, mask, max_rows, max_columns, threads, parts,
                                 Matrix<float>(threads, parts.floats(), memory));
}

Attention::Attention(Attention&&) noexcept = default;
Attention::~Attention() = default;

void Attention::Impl::check(MatrixView<const float> query, const KvContext& context,
                            std::span<const std::int32_t> positions,
                            MatrixView<const float> output) const {
  TW_REQUIRE(query.cols() == hidden() && output.cols() == hidden() && context.hidden() == hidden(),
             "queries of {}, outputs of {}, keys of {} for {} heads of {}", query.cols(),
             output.cols(), context.hidden(), heads, head_dim);
  TW_REQUIRE(query.rows() == output.rows() && query.rows() <= max_rows,
             "{} queries and {} outputs where {} fit", query.rows(), output.rows(), max_rows);
  TW_REQUIRE(context.columns() <= max_columns, "{} columns where {} fit", context.columns(),
             max_columns);
  TW_REQUIRE(mask == Mask::none || std::ssize(positions) == query.rows(),
             "{} positions for {} queries", positions.size(), query.rows());
}

/// A thread's share is a run of all heads' queries, one head behind the other.
void Attention::Impl::attend_share(Pass& pass, Slice share, float* own_scratch) const {
  const Index rows = pass.query.rows(), columns = pass.context.columns();
  const Head head{columns, head_dim, own_scratch, own_scratch + parts.keys};
  float* const starts = head.values + parts.values;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  list_starts(pass.context.log_counts(), scale,
              {starts, static_cast<std::size_t>(padded(columns))});
  for (Index begin = share.begin; begin < share.end();) {
    const Index index = begin / rows, first_column = index * head_dim;
    const Index end = std::min(share.end(), (index + 1) * rows);
    head.pack(pass.context, first_column);
    for_each_tile(end - begin, [&](Index first, Index count) {
      std::array<float, kTileRows> factors;  // written, then read
      const TileOfQueries tile{pass,
                               head,
                               first_column,
                               starts,
                               scale,
                               {begin - index * rows + first, count},
                               starts + parts.starts};
      tile.score();
      if (mask == Mask::causal)
        tile.weigh_rows<Mask::causal>(factors);
      else
        tile.weigh_rows<Mask::none>(factors);
      tile.mix(factors);
    });
    begin = end;
  }
}

void Attention::Impl::attend(Pass& pass) {
  const Index all = heads * pass.query.rows();
  if (2 * all * pass.context.columns() * head_dim < kMacsWorthThreads)
    return attend_share(pass, {0, all}, scratch.view().data());
#pragma omp parallel num_threads(threads)
  {
    const Index thread = omp_get_thread_num(), count = omp_get_num_threads();
    const Index begin = all * thread / count, end = all * (thread + 1) / count;
    attend_share(pass, {begin, end - begin}, scratch.view().row(thread).data());
  }
}

void Attention::operator()(MatrixView<const float> query, const KvContext& context,
                           std::span<const std::int32_t> positions, MatrixView<float> output,
                           Operations& counted) {
  impl_->check(query, context, positions, output);
  const Index rows = query.rows(), columns = context.columns();
  if (rows == 0) return;
  require_input(columns > 0, "attention without key columns: the input is empty");

  Pass pass{query, context, positions, output};
  impl_->attend(pass);
  require_input(pass.blind_row < 0,
                "query {} sees no key column: the input has no real token there",
                pass.blind_row.load());

  counted.matmul_macs += 2 * rows * columns * impl_->hidden();
  counted.softmax_elements += impl_->heads * rows * columns;
}

}  // namespace thinwire::ops
