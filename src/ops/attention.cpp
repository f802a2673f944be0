#include "thinwire/ops/attention.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "onednn.hpp"
#include "softmax.hpp"

namespace thinwire::ops {
namespace {

/// Scores of a block of queries, per thread: 512 KiB stay in the second-level cache.
constexpr Index kBlockScores = 131072;

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

}  // namespace

struct Attention::Impl {
  Index heads, head_dim;
  Mask mask;
  Index max_rows, max_columns, scratch_floats;  // scratch_floats: of one thread
  int threads;
  Matrix<float> scratch;                                      // [threads, scratch_floats]
  std::map<BlockShape, std::vector<BlockProducts>> products;  // by thread

  Index hidden() const { return heads * head_dim; }
  void check(MatrixView<const float> query, const KvContext& context,
             std::span<const std::int32_t> positions, MatrixView<const float> output) const;
  std::vector<BlockProducts>& products_for(const BlockShape& shape);
  template <Mask kind>
  void attend(MatrixView<const float> query, const KvContext& context,
              std::span<const std::int32_t> positions, MatrixView<float> output);
};

Attention::Attention(Index heads, Index head_dim, Mask mask, Index max_rows, Index max_columns,
                     int threads, std::pmr::memory_resource* memory) {
  TW_REQUIRE(heads > 0 && head_dim > 0 && max_rows > 0 && max_columns > 0 && threads > 0,
             "{} heads of {}, {} rows, {} columns, {} threads", heads, head_dim, max_rows,
             max_columns, threads);
  const Index block_rows = std::max<Index>(1, std::min(max_rows, kBlockScores / max_columns));
  const Index scratch_floats = block_rows * max_columns;
  impl_ = std::unique_ptr<Impl>(new Impl{heads,
                                         head_dim,
                                         mask,
                                         max_rows,
                                         max_columns,
                                         scratch_floats,
                                         threads,
                                         Matrix<float>(threads, scratch_floats, memory),
                                         {}});
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
  if (const auto found = products.find(shape); found != products.end()) return found->second;
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
  return products.emplace(shape, std::move(made)).first->second;
}

template <Mask kind>
void Attention::Impl::attend(MatrixView<const float> query, const KvContext& context,
                             std::span<const std::int32_t> positions, MatrixView<float> output) {
  const Index columns = context.columns();
  const Index most = std::max<Index>(1, std::min(kBlockScores, scratch_floats) / columns);
  const Blocks blocks(query.rows(), std::min(query.rows(), most));
  const auto shape = [&](Index rows) {
    return BlockShape{rows, columns, query.stride(), output.stride()};
  };
  std::vector<BlockProducts>& large = products_for(shape(blocks.size(0)));
  std::vector<BlockProducts>& small = products_for(shape(blocks.rows));
  const KeyColumns keys{context.log_counts(), context.last()};
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  std::atomic<dnnl_status_t> status = dnnl_success;
  std::atomic<Index> blind_row = -1;  // a query that sees no column

#pragma omp parallel num_threads(threads)
  {
    omp_set_num_threads(1);  // of this region's thread: oneDNN's products stay inside it
    const int thread = omp_get_thread_num();
    float* scores = scratch.view().row(thread).data();
#pragma omp for schedule(dynamic, 1)
    for (Index task = 0; task < heads * blocks.count; ++task) {
      const Index block = task % blocks.count, column = task / blocks.count * head_dim;
      const Index begin = blocks.begin(block), rows = blocks.size(block);
      auto& [multiply_keys, multiply_values] =
          (rows == blocks.rows ? small : large)[static_cast<std::size_t>(thread)];
      const dnnl_status_t first = multiply_keys(query.data() + begin * query.stride() + column,
                                                context.keys().data() + column, scores);
      for (Index r = 0; r < rows; ++r) {
        const std::int32_t position =
            kind == Mask::causal ? positions[static_cast<std::size_t>(begin + r)] : 0;
        const std::span<float> row(scores + r * columns, static_cast<std::size_t>(columns));
        if (!softmax_row<kind>(row, scale, keys, position)) blind_row = begin + r;
      }
      const dnnl_status_t second =
          multiply_values(scores, context.values().data() + column,
                          output.data() + begin * output.stride() + column);
      if (first != dnnl_success || second != dnnl_success)
        status = first != dnnl_success ? first : second;
    }
  }
  onednn::check(status, "attention");
  require_input(blind_row < 0, "query {} sees no key column: the input has no real token there",
                blind_row.load());
}

void Attention::operator()(MatrixView<const float> query, const KvContext& context,
                           std::span<const std::int32_t> positions, MatrixView<float> output,
                           Operations& counted) {
  impl_->check(query, context, positions, output);
  const Index rows = query.rows(), columns = context.columns();
  if (rows == 0) return;
  require_input(columns > 0, "attention without key columns: the input is empty");

  if (impl_->mask == Mask::causal)
    impl_->attend<Mask::causal>(query, context, positions, output);
  else
    impl_->attend<Mask::none>(query, context, positions, output);

  counted.matmul_macs += 2 * rows * columns * impl_->hidden();
  counted.softmax_elements += impl_->heads * rows * columns;
}

}  // namespace thinwire::ops
