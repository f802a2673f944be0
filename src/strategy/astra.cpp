#include "thinwire/strategy/astra.hpp"

namespace thinwire::strategy {
namespace {

constexpr int kWideBits = 16;

/// ASTRA knows no hierarchy: it searches all codewords.
int finest_level(const compress::CodebookSet& codebooks) {
  return static_cast<int>(codebooks.levels().size()) - 1;
}

compress::FrameFormat format_of(const StrategyOptions& options) {
  const Index codewords = options.codebooks->codewords();
  const bool is_wide = options.index_bits == compress::IndexBits::wide;
  return {.bits = is_wide ? kWideBits : compress::index_bits(codewords),
          .has_header = false,
          .codewords = codewords};
}

}  // namespace

AstraExchange::AstraExchange(const model::Model& model, const DeviceRole& role,
                             const StrategyOptions& options, std::span<const Layout> layouts)
    : IndexExchange(model, role, options, finest_level(*options.codebooks), format_of(options),
                    layouts),
      rows_(most_remote_tokens(layouts), model.config().hidden, role.memory) {
  if (options.on_loss == fabric::OnLoss::reuse) find_successors(role);
}

void AstraExchange::decode_remote(Index layer, ops::KvContext& context, Operations& counted) {
  const model::Block& block = model().block(layer);
  const MatrixView<float> rows = rows_.first(remote_tokens());
  codebooks().codebook(layer).lookup(remote_indices(), rows);
  block.project_kv(block.kv_input(rows, rows, counted), append_remote(context), counted);
}

}  // namespace thinwire::strategy
