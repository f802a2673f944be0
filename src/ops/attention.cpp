#include "thinwire/ops/attention.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <compare>
#include <utility>
#include <vector>

#include "onednn.hpp"
#include "recent_map.hpp"
#include "softmax.hpp"
#include "thinwire/base/partition.hpp"

namespace thinwire::ops {
namespace {

/// Scores of a block of queries, per thread: 512 KiB stay in the second-level cache.
constexpr Index kBlockScores = 131072;

/// Shapes whose products are kept, some 20 KiB a thread each: a data set's lengths, but not ever
/// more of them.
constexpr std::size_t kShapesKept = 256;

/// Sets the calling thread's number of OpenMP threads for a while.
class ThreadsInScope {
 public:
  explicit ThreadsInScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ThreadsInScope(const ThreadsInScope&) = delete;
  ThreadsInScope& operator=(const ThreadsInScope&) = delete;
  ~ThreadsInScope() { omp_set_num_threads(before_); }

 private:
  int before_;
};

/// What a block's two products depend on, heads and hidden apart.
struct BlockShape {
  Index rows, columns, query_stride, output_stride;
  auto operator<=>(const BlockShape&) const = default;
};

/// The arguments of one call, and what its threads have to report: exceptions must not leave them.
struct Pass {
  MatrixView<const float> query;
  const KvContext& context;
  std::span<const std::int32_t> positions;
  MatrixView<float> output;
  std::atomic<dnnl_status_t> status = dnnl_success;
  std::atomic<Index> blind_row = -1;  // a query that sees no column
};

/// Q K^T and (probabilities) V of one block; each thread has its own.
struct BlockProducts {
  onednn::BoundMatmul scores, values;
};

/// Rows split evenly over blocks: the first `larger` ones have a row more than the others.
struct Blocks {
  Index count, rows, larger;
  Blocks(Index all_rows, Index most)
      : count((all_rows + most - 1) / most), rows(all_rows / count), larger(all_rows % count) {}
  Index size(Index block) const { return rows + (block < larger ? 1 : 0); }
  Index begin(Index block) const { return block * rows + std::min(block, larger); }
};

onednn::BoundMatmul bind(const onednn::MatmulLayouts& layouts) {
  const onednn::MatmulPlan plan = onednn::make_matmul(layouts);
  return {plan, dnnl::matmul(plan), onednn::borrow(layouts.weights, nullptr)};
}

/// One head, columns [column, column + head_dim) of hidden, for the queries `rows`.
template <Mask mask>
void attend_block(Pass& pass, Slice rows, Index column, Index head_dim, BlockProducts& multiply,
                  float* scores) noexcept {
  const MatrixView<const float> query = pass.query;
  const MatrixView<float> output = pass.output;
  const KvContext& context = pass.context;
  const Index columns = context.columns();
  const KeyColumns keys{context.log_counts(), context.last()};
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));

  const dnnl_status_t keys_status = multiply.scores(
      query.data() + rows.begin * query.stride() + column, context.keys().data() + column, scores);
  for (Index r = 0; r < rows.size; ++r) {
    const auto row = static_cast<std::size_t>(rows.begin + r);
    const std::int32_t position = mask == Mask::causal ? pass.positions[row] : 0;
    const std::span<float> row_scores(scores + r * columns, static_cast<std::size_t>(columns));
    if (!softmax_row<mask>(row_scores, scale, keys, position)) pass.blind_row = rows.begin + r;
  }
  const dnnl_status_t values_status =
      multiply.values(scores, context.values().data() + column,
                      output.data() + rows.begin * output.stride() + column);

  if (keys_status != dnnl_success) pass.status = keys_status;
  if (values_status != dnnl_success) pass.status = values_status;
}

}  // namespace

struct Attention::Impl {
  Index heads, head_dim;
  Mask mask;
  Index max_rows, max_columns, scratch_floats;  // scratch_floats: of one thread
  int threads;
  Matrix<float> scratch;  // [threads, scratch_floats]
  RecentMap<BlockShape, std::vector<BlockProducts>> products{kShapesKept};  // by thread

  Index hidden() const { return heads * head_dim; }
  void check(MatrixView<const float> query, const KvContext& context,
             std::span<const std::int32_t> positions, MatrixView<const float> output) const;
  std::vector<BlockProducts>& products_for(const BlockShape& shape);
  void attend(Pass& pass);
};

Attention::Attention(Index heads, Index head_dim, Mask mask, Index max_rows, Index max_columns,
                     int threads, std::pmr::memory_resource* memory) {
  TW_REQUIRE(heads > 0 && head_dim > 0 && max_rows > 0 && max_columns > 0 && threads > 0,
             "{} heads of {}, {} rows, {} columns, {} threads", heads, head_dim, max_rows,
             max_columns, threads);
  const Index block_rows = std::max<Index>(1, std::min(max_rows, kBlockScores / max_columns));
  const Index scratch_floats = block_rows * max_columns;
  impl_ = std::make_unique<Impl>(heads, head_dim, mask, max_rows, max_columns, scratch_floats,
                                 threads, Matrix<float>(threads, scratch_floats, memory));
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

std::vector<BlockProducts>& Attention::Impl::products_for(const BlockShape& shape) {
  if (auto* const found = products.find(shape)) return *found;
  // A product is one thread's work: threads take different heads and blocks.
  const ThreadsInScope one(1);
  const auto& [rows, columns, query_stride, output_stride] = shape;
  const Index kv_stride = 2 * hidden();
  const onednn::Layout scores = onednn::dense_layout(rows, columns);
  std::vector<BlockProducts> made;
  for (int thread = 0; thread < threads; ++thread)
    made.push_back({bind({onednn::strided_layout(rows, head_dim, query_stride, 1),
                          onednn::strided_layout(head_dim, columns, 1, kv_stride), scores}),
                    bind({scores, onednn::strided_layout(columns, head_dim, kv_stride, 1),
                          onednn::strided_layout(rows, head_dim, output_stride, 1)})});
  return products.insert(shape, std::move(made));
}

void Attention::Impl::attend(Pass& pass) {
  const Index rows = pass.query.rows(), columns = pass.context.columns();
  const Index most = std::max<Index>(1, std::min(kBlockScores, scratch_floats) / columns);
  const Blocks blocks(rows, std::min(rows, most));
  const auto shape = [&](Index block_rows) {
    return BlockShape{block_rows, columns, pass.query.stride(), pass.output.stride()};
  };
  std::vector<BlockProducts>& large = products_for(shape(blocks.size(0)));
  std::vector<BlockProducts>& small = products_for(shape(blocks.rows));

#pragma omp parallel num_threads(threads)
  {
    omp_set_num_threads(1);  // of this region's thread: oneDNN's products stay inside it
    const int thread = omp_get_thread_num();
    float* scores = scratch.view().row(thread).data();
#pragma omp for schedule(dynamic, 1)
    for (Index task = 0; task < heads * blocks.count; ++task) {
      const Index block = task % blocks.count, head = task / blocks.count;
      const Slice slice{blocks.begin(block), blocks.size(block)};
      auto& products_of_shape = slice.size == blocks.rows ? small : large;
      BlockProducts& multiply = products_of_shape[static_cast<std::size_t>(thread)];
      if (mask == Mask::causal)
        attend_block<Mask::causal>(pass, slice, head * head_dim, head_dim, multiply, scores);
      else
        attend_block<Mask::none>(pass, slice, head * head_dim, head_dim, multiply, scores);
    }
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
  onednn::check(pass.status, "attention");
  require_input(pass.blind_row < 0,
                "query {} sees no key column: the input has no real token there",
                pass.blind_row.load());

  counted.matmul_macs += 2 * rows * columns * impl_->hidden();
  counted.softmax_elements += impl_->heads * rows * columns;
}

}  // namespace thinwire::ops
