#include "thinwire/harness/block_rate.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/ops/attention.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"

namespace thinwire::harness {
namespace {

/// The local work of a device between its embedding and its head.
class BlockPass {
 public:
  BlockPass(const model::Model& model, Index rows, int threads)
      : model_(model),
        columns_(std::max(rows, model.config().tokens)),
        input_(rows, model.config().hidden),
        x_(rows, model.config().hidden),
        normed_(rows, model.config().hidden),
        query_(rows, model.config().hidden),
        attended_(rows, model.config().hidden),
        ffn_(rows, model.config().ffn),
        context_(columns_, model.config().hidden, std::pmr::new_delete_resource()),
        log_counts_(static_cast<std::size_t>(columns_), 0.0F),
        positions_(static_cast<std::size_t>(columns_)),
        attention_(model.config().heads, model.config().head_dim(),
                   model.config().is_causal() ? ops::Mask::causal : ops::Mask::none, rows, columns_,
                   threads, std::pmr::new_delete_resource()) {
    // The device has the last rows, which see the whole sequence under a causal mask too.
    std::iota(positions_.begin(), positions_.end(), 0);
    std::ranges::rotate(positions_, positions_.end() - rows);
    RandomStream("input", 0).fill_symmetric(input_.view().elements(), 1);
    // K and V of the other rows stay as they are; each block writes those of the local ones.
    const MatrixView<float> kv = context_.append(log_counts_, positions_);
    RandomStream("kv", 0).fill_symmetric(kv.elements(), 1);
  }

  /// Back to the first block's input.
  void begin() { copy<float>(input_.view(), x_.view()); }
  /// All blocks; returns the operations.
  Operations run() {
    Operations counted;
    for (Index layer = 0; layer < model_.config().layers; ++layer) run_block(layer, counted);
    return counted;
  }

 private:
  void run_block(Index layer, Operations& counted) {
    const model::Block& block = model_.block(layer);
    const MatrixView<const float> rows = block.kv_input(x_.view(), normed_.view(), counted);
    block.project_query(rows, query_.view(), counted);
    context_.clear();
    const MatrixView<float> kv = context_.append(log_counts_, positions_);
    block.project_kv(rows, kv.rows(0, x_.rows()), counted);
    attention_(query_.view(), context_, positions(), attended_.view(), counted);
    block.attention_residual(attended_.view(), x_.view(), counted);
    block.finish(x_.view(), normed_.view(), ffn_.view(), counted);
  }
  std::span<const std::int32_t> positions() const {
    return std::span(positions_).first(static_cast<std::size_t>(x_.rows()));
  }

  const model::Model& model_;
  Index columns_;
  Matrix<float> input_, x_, normed_, query_, attended_, ffn_;
  ops::KvContext context_;
  std::vector<float> log_counts_;        // of every column
  std::vector<std::int32_t> positions_;  // of every column, the local ones first
  ops::Attention attention_;
};

/// One pass: its operations, and its GFLOP/s behind those of earlier ones.
void measure(BlockPass& pass, std::int64_t& pass_flops, std::vector<double>& gflops) {
  pass.begin();
  const auto start = std::chrono::steady_clock::now();
  const Operations counted = pass.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  pass_flops = flops(counted, Convention::paper);
  gflops.push_back(static_cast<double>(pass_flops) / took.count() / 1e9);
}

}  // namespace

std::vector<BlockRate> measure_block_rates(const model::Model& model, std::span<const Index> rows,
                                           const BlockRateOptions& options,
                                           const std::function<void(double)>& on_progress) {
  TW_REQUIRE(!rows.empty() && std::ranges::min(rows) >= 1, "{} row counts, each at least 1",
             rows.size());
  ops::set_threads(options.threads);
  const ops::ThreadBinding binding(ops::allowed_cores());
  std::vector<BlockPass> passes;
  passes.reserve(rows.size());
  for (const Index count : rows) passes.emplace_back(model, count, options.threads);

  const int rounds = options.warmup + options.iterations;
  const double total = rounds * static_cast<double>(std::reduce(rows.begin(), rows.end()));
  double done = 0;
  std::vector<BlockRate> rates(rows.size());
  std::vector<std::vector<double>> gflops(rows.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (round == options.warmup) gflops[i].clear();
      measure(passes[i], rates[i].flops, gflops[i]);
      on_progress((done += static_cast<double>(rows[i])) / total);
    }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rates[i].rows = rows[i];
    rates[i].gflops = summarize(std::move(gflops[i]));
  }
  return rates;
}

}  // namespace thinwire::harness
