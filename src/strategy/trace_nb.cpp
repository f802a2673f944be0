#include "thinwire/strategy/trace_nb.hpp"

#include <algorithm>

#include "thinwire/strategy/trace_format.hpp"

namespace thinwire::strategy {

TraceNbExchange::TraceNbExchange(const model::Model& model, const DeviceRole& role,
                                 const StrategyOptions& options, std::span<const Layout> layouts)
    : IndexExchange(model, role, options, chosen_level(options, *options.codebooks),
                    trace_format(*options.codebooks, chosen_level(options, *options.codebooks)),
                    layouts),
      state_(most_remote_tokens(layouts), model.config().hidden, role.memory),
      scratch_(most_remote_tokens(layouts), model.config().hidden, role.memory),
      ffn_(most_remote_tokens(layouts), model.config().ffn, role.memory) {}

void TraceNbExchange::decode_remote(Index layer, ops::KvContext& context, Operations& counted) {
  const model::Block& block = model().block(layer);
  const MatrixView<float> state = state_.first(remote_tokens());
  if (layer > 0)
    advance(layer, state, counted);
  else if (codebooks().use().codes(0))
    codebooks().codebook(0).lookup(remote_indices(), state);
  else
    copy_raw_remote(state);
  block.project_kv(block.kv_input(state, scratch_.first(remote_tokens()), counted),
                   append_remote(context), counted);
}

void TraceNbExchange::stand_in(Index layer, fabric::OnLoss policy) {
  has_state_.resize(static_cast<std::size_t>(remote_tokens()));
  for (Index token = 0; token < remote_tokens(); ++token) {
    const auto i = static_cast<std::size_t>(token);
    if (layer == 0) has_state_[i] = !lost().is_lost(token);
    const bool is_skipped = policy == fabric::OnLoss::skip && lost().is_lost(token);
    if (!has_state_[i] || is_skipped) lost().hide(token);
  }
}

/// The peers' states go through block `layer` - 1 with codewords for their attention.
void TraceNbExchange::advance(Index layer, MatrixView<float> state, Operations& counted) {
  const model::Block& previous = model().block(layer - 1);
  const MatrixView<float> scratch = scratch_.first(state.rows());
  codebooks().codebook(layer).lookup(remote_indices(), scratch);
  for (Index token = 0; is_lossy() && token < remote_tokens(); ++token)
    if (lost().is_lost(token)) std::ranges::fill(scratch.row(token), 0.0F);
  previous.residual(scratch, state, counted);
  previous.finish(state, scratch, ffn_.first(state.rows()), counted);
}

}  // namespace thinwire::strategy
