#pragma once
#include <memory>
#include <optional>
#include <span>
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
/// decodes what they sent. Publishing and waiting happens here alone.
/// What goes through the blocks is a batch: functions of single rows see the local rows of all its
/// samples in one stack, attention and exchanges see one sample after the other.
class SequenceParallel final : public Strategy {
 public:
  /// exchanges: one for every sample that a batch may have, null for one device.
  /// max_columns: most key columns of a block's attention, for any layout.
  /// terminal: the way from and to a terminal, or nothing when the devices hold the input.
  SequenceParallel(const model::Model& model, const DeviceRole& role, std::vector<Layout> layouts,
                   std::vector<std::unique_ptr<Exchange>> exchanges, Index max_columns,
                   Overlap overlap, std::optional<TerminalLink> terminal = {});

  Output forward(const model::ModelInput& input, fabric::Fabric& fabric,
                 Observer* observer) override;
  void forward_batch(std::span<const BatchItem> batch, fabric::Fabric& fabric,
                     const OutputReader& read) override;

 private:
  /// A sample's place in the batch, with what belongs to it alone.
  struct Sample {
    std::unique_ptr<Exchange> exchange;
    TokenColumns local;  ///< its local rows
    ops::KvContext context;
    std::optional<fabric::Pending> pending = {};
    fabric::Delivery arrived = {};  ///< in the exchange that was waited for last
    // Of the pass.
    const Layout* layout = nullptr;
    const model::ModelInput* input = nullptr;
    Observer* observer = nullptr;
    std::uint64_t number = 0;
    Slice rows = {};  ///< its local rows in the stack

    /// Its rows of a stack.
    template <class T>
    MatrixView<T> of(MatrixView<T> stack) const {
      return stack.rows(rows.begin, rows.size);
    }
  };
  /// What one call of forward_batch works on.
  struct Pass {
    std::span<Sample> samples;
    MatrixView<float> x;  ///< [rows of all samples, hidden]
    fabric::Fabric& fabric;
    bool has_exchanges() const { return samples.front().exchange != nullptr; }
  };

  void run(std::span<const BatchItem> batch, fabric::Fabric& fabric, const OutputReader& read);
  Pass begin(std::span<const BatchItem> batch, fabric::Fabric& fabric);
  void embed(const Pass& pass);
  void receive_input(const Pass& pass);
  void run_block(const Pass& pass, Index layer);
  void project_local(const Pass& pass, Index layer);
  void project_kv(const Pass& pass, Index layer, MatrixView<const float> input,
                  Operations& counted);
  void decode(const Pass& pass, Index layer);
  void attend(const Pass& pass, Index layer, compress::Published published);
  void publish(const Pass& pass, Index exchange, MatrixView<const float> rows);
  void arrive(const Pass& pass);
  void note_sizes(const Sample& sample, Index exchange);
  void report_hidden(const Pass& pass, Index index) const;

  const model::Model& model_;
  std::vector<Layout> layouts_;
  Overlap overlap_;
  std::optional<TerminalLink> terminal_;
  Index rows_;  ///< most local rows of any batch

  // The workspace of a pass; `cost` predicts its size term by term, for batches of one.
  Matrix<float> x_, normed_, query_, attended_, ffn_, patches_;
  Matrix<float> kv_;  ///< [rows, 2 * hidden] of all samples on the way to theirs; empty for one
  std::vector<Sample> samples_;
  std::vector<std::int64_t> sizes_;  ///< [device] bytes of the payloads of the exchange under way
  ops::Attention attention_;
  SequenceHead head_;
};

/// Every sequence length's layout for this device; `replicated` leading tokens are on all of them.
/// Throws InputError when P exceeds the other tokens.
std::vector<Layout> make_layouts(const DeviceRole& role, const StrategyOptions& options,
                                 Index replicated = 0);

}  // namespace thinwire::strategy
