#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "thinwire/ops/attention.hpp"
#include "thinwire/strategy/exchange.hpp"
#include "thinwire/strategy/sequence_head.hpp"
#include "thinwire/strategy/strategy.hpp"
#include "thinwire/strategy/terminal.hpp"
#include "thinwire/strategy/token_columns.hpp"

namespace thinwire::strategy {

/// When a device waits for what its peers publish.
enum class Overlap {
  no,   ///< right after publishing itself
  yes,  ///< when it needs their rows, after the local work that does not
};

/// The forward pass that single, voltage, prism, astra and trace share: tokens are split, every
/// device runs all blocks on its rows, an Exchange encodes what the others must know of them and
/// decodes what they sent. Publishing and waiting happens here alone. `exchange` is null for one
/// device.
class SequenceParallel final : public Strategy {
 public:
  /// max_columns: most key columns of a block's attention, for any layout.
  /// terminal: the way from and to a terminal, or nothing when the devices hold the input.
  SequenceParallel(const model::Model& model, const DeviceRole& role, std::vector<Layout> layouts,
                   std::unique_ptr<Exchange> exchange, Index max_columns, Overlap overlap,
                   std::optional<TerminalLink> terminal = {});

  Output forward(const model::ModelInput& input, fabric::Fabric& fabric,
                 Observer* observer) override;

 private:
  /// What one call of forward works on.
  struct Pass {
    const Layout& layout;
    const model::ModelInput& input;
    MatrixView<float> x;  ///< [local_rows, hidden]
    fabric::Fabric& fabric;
    Observer* observer;
  };

  const Layout& layout_for(Index tokens) const;
  void begin(const Pass& pass);
  void embed(const Pass& pass);
  void receive_input(const Pass& pass);
  void run_block(const Pass& pass, Index layer);
  void project_local(const Pass& pass, Index layer);
  void attend(const Pass& pass, Index layer, compress::Published published);
  void publish(const Pass& pass, Index exchange, MatrixView<const float> rows);
  void arrive(const Pass& pass, Index exchange);
  void report_hidden(const Pass& pass, Index index) const;

  const model::Model& model_;
  std::vector<Layout> layouts_;
  std::unique_ptr<Exchange> exchange_;
  Overlap overlap_;
  std::optional<TerminalLink> terminal_;
  Index rows_;  ///< most local rows of any layout
  std::optional<fabric::Pending> pending_;

  // The workspace of a pass; `cost` predicts its size term by term.
  Matrix<float> x_, normed_, query_, attended_, ffn_, patches_;
  ops::KvContext context_;
  ops::Attention attention_;
  TokenColumns local_;  ///< the local rows
  SequenceHead head_;
};

/// Every sequence length's layout for this device; `replicated` leading tokens are on all of them.
/// Throws InputError when P exceeds the other tokens.
std::vector<Layout> make_layouts(const DeviceRole& role, const StrategyOptions& options,
                                 Index replicated = 0);

}  // namespace thinwire::strategy
