#include "thinwire/strategy/trace.hpp"

#include "thinwire/strategy/trace_format.hpp"

namespace thinwire::strategy {
namespace {

using compress::Buffers;
using compress::CodebookUse;

/// Which of the workspace a way of decoding needs, for `remote` rows.
Index row_count(const CodebookUse& use, Index remote) {
  return use.buffers != Buffers::kv || !use.codes(0) ? remote : 0;
}

Index normed_count(const CodebookUse& use, const model::ModelConfig& config, Index remote) {
  return use.buffers == Buffers::off && config.norm_order() == model::NormOrder::pre ? remote : 0;
}

Index ffn_count(const CodebookUse& use, Index remote) {
  return use.buffers == Buffers::off ? remote : 0;
}

}  // namespace

TraceExchange::TraceExchange(const model::Model& model, const DeviceRole& role,
                             const StrategyOptions& options, std::span<const Layout> layouts)
    : IndexExchange(model, role, options, chosen_level(options, *options.codebooks),
                    trace_format(*options.codebooks, chosen_level(options, *options.codebooks)),
                    layouts) {
  const CodebookUse& use = options.codebooks->use();
  const model::ModelConfig& config = model.config();
  const Index remote = most_remote_tokens(layouts);
  rows_ = Matrix<float>(row_count(use, remote), config.hidden, role.memory);
  normed_ = Matrix<float>(normed_count(use, config, remote), config.hidden, role.memory);
  ffn_ = Matrix<float>(ffn_count(use, remote), config.ffn, role.memory);
  if (options.on_loss == fabric::OnLoss::reuse) find_successors(role);
}

void TraceExchange::decode_remote(Index layer, ops::KvContext& context, Operations& counted) {
  const CodebookUse& use = codebooks().use();
  if (use.codes(layer) && use.buffers == Buffers::kv) {
    codebooks().buffer(layer).gather(remote_indices(), append_remote(context));
    return;
  }
  const model::Block& block = model().block(layer);
  const MatrixView<float> rows = rows_.first(remote_tokens());
  restore_rows(layer, rows, counted);
  block.project_kv(block.kv_input(rows, rows, counted), append_remote(context), counted);
}

/// rows [remote tokens, hidden] become what the peers hold before block `layer`, as far as known.
void TraceExchange::restore_rows(Index layer, MatrixView<float> rows, Operations& counted) {
  const CodebookUse& use = codebooks().use();
  if (!use.codes(layer)) {
    copy_raw_remote(rows);
  } else if (use.buffers == Buffers::hidden) {
    codebooks().buffer(layer).gather(remote_indices(), rows);
  } else {
    codebooks().codebook(layer).lookup(remote_indices(), rows);
    if (layer == 0) return;  // the embeddings themselves
    model().block(layer - 1).finish(rows, normed_.first(std::min(rows.rows(), normed_.rows())),
                                    ffn_.first(rows.rows()), counted);
  }
}

}  // namespace thinwire::strategy
