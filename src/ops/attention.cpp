#include "thinwire/ops/attention.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "panel_product.hpp"
#include "softmax.hpp"
#include "thinwire/base/partition.hpp"

namespace thinwire::ops {
namespace {

/// Scores of a block of queries, per thread: 128 KiB leave room in the second-level cache for the
/// keys and values of a head.
constexpr Index kBlockScores = 32768;
/// A multiple of any machine's kTileColumns, so that the scratch's size is the same on all.
constexpr Index kPadding = 32;
static_assert(kPadding % kTileColumns == 0);
constexpr Index kFewestRows = 8;  // of a block, however many columns there are

Index padded(Index columns) {
  return (columns + kPadding - 1) / kPadding * kPadding;
}

/// Inline, where a call for so few bytes would take longer than they do.
void copy_tile_row(const float* from, float* to) noexcept {
  store(to, load(from));
  store(to + kVectorFloats, load(from + kVectorFloats));
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

  void pack(const KvContext& context, Index first_column) const noexcept;
};

void Head::pack(const KvContext& context, Index first_column) const noexcept {
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

/// Scores of the queries `rows` of one head become probabilities [rows, padded columns].
template <Mask mask>
void score(Pass& pass, const Head& head, Index first_column, Slice rows, float* scores) noexcept {
  const MatrixView<const float> query = pass.query;
  const Index stride = padded(head.columns);
  for (Index j = 0; j < head.columns; j += kTileColumns)
    for_each_tile(rows.size, [&](Index first, Index count) {
      multiply_tile(count, {query.row(rows.begin + first).data() + first_column, query.stride(),
                            head.keys + j * head.head_dim, head.head_dim,
                            scores + first * stride + j, stride});
    });
  const KeyColumns keys{pass.context.log_counts(), pass.context.last()};
  const float scale = 1.0F / std::sqrt(static_cast<float>(head.head_dim));
  for (Index r = 0; r < rows.size; ++r) {
    const Index row = rows.begin + r;
    const std::int32_t position =
        mask == Mask::causal ? pass.positions[static_cast<std::size_t>(row)] : 0;
    const std::span row_scores(scores + r * stride, static_cast<std::size_t>(head.columns));
    if (!softmax_row<mask>(row_scores, scale, keys, position)) pass.blind_row = row;
  }
}

/// Probabilities times values, to the head's columns of the output.
void mix(const Pass& pass, const Head& head, Index first_column, Slice rows,
         const float* probabilities) noexcept {
  const Index stride = padded(head.columns);
  alignas(kVectorBytes) std::array<float, kTileRows * kTileColumns>
      mixed;  // every tile overwrites what is read of it
  for (Index k = 0; k < head.head_dim; k += kTileColumns)
    for_each_tile(rows.size, [&](Index first, Index count) {
      multiply_tile(count, {probabilities + first * stride, stride, head.values + k * head.columns,
                            head.columns, mixed.data(), kTileColumns});
      for (Index r = 0; r < count; ++r) {
        const float* const from = mixed.data() + r * kTileColumns;
        float* const to = pass.output.row(rows.begin + first + r).data() + first_column + k;
        if (head.head_dim - k >= kTileColumns)
          copy_tile_row(from, to);
        else
          std::copy_n(from, head.head_dim - k, to);
      }
    });
}

/// How a thread's scratch is divided.
struct Scratch {
  Index keys, values, scores;  // floats
  Scratch(Index head_dim, Index max_rows, Index max_columns)
      : keys(padded(max_columns) * head_dim),
        values(max_columns * padded(head_dim)),
        scores(std::min(max_rows, std::max(kFewestRows, kBlockScores / padded(max_columns))) *
               padded(max_columns)) {}
  Index floats() const { return keys + values + scores; }
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
  void attend_share(Pass& pass, Slice share, float* own_scratch) const noexcept;
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
void Attention::Impl::attend_share(Pass& pass, Slice share, float* own_scratch) const noexcept {
  const Index rows = pass.query.rows(), columns = pass.context.columns();
  float* const scores = own_scratch + parts.keys + parts.values;
  const Index block = std::max<Index>(1, parts.scores / padded(columns));
  const Head head{columns, head_dim, own_scratch, own_scratch + parts.keys};
  for (Index begin = share.begin; begin < share.end();) {
    const Index index = begin / rows, first_column = index * head_dim;
    const Index end = std::min(share.end(), (index + 1) * rows);
    head.pack(pass.context, first_column);
    for (; begin < end; begin += block) {
      const Slice part{begin - index * rows, std::min(block, end - begin)};
      if (mask == Mask::causal)
        score<Mask::causal>(pass, head, first_column, part, scores);
      else
        score<Mask::none>(pass, head, first_column, part, scores);
      mix(pass, head, first_column, part, scores);
    }
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
