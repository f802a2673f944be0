#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "thinwire/base/partition.hpp"
#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/row_format.hpp"
#include "thinwire/compress/segments.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/strategy/level_controller.hpp"

namespace thinwire::strategy {

enum class ClassToken {
  partitioned,  ///< a token like the others, on the first device
  replicated,   ///< every device carries a copy that is never sent (ASTRA)
};
ClassToken parse_class_token(std::string_view name);  // InputError with the known names
std::string_view to_string(ClassToken class_token);

/// Who holds the input and gets the answer (METHODS 7).
enum class Io {
  replicated,  ///< every device embeds its own rows
  terminal,    ///< one more rank embeds, distributes and collects
};
Io parse_io(std::string_view name);  // InputError with the known names
std::string_view to_string(Io io);

/// What the terminal collects of a language model.
enum class Collect { last, all };
Collect parse_collect(std::string_view name);  // InputError with the known names
std::string_view to_string(Collect collect);

/// What any strategy may be told; each reads what concerns it.
struct StrategyOptions {
  PartitionPolicy partition = PartitionPolicy::paper;
  std::vector<double> weights;  ///< for PartitionPolicy::weighted, one a device
  Index segments = 0;           ///< L (prism); 0: from compression_rate
  double compression_rate = 0;  ///< requested CR (prism), when segments = 0
  compress::Scaling scaling = compress::Scaling::on;
  compress::RowFormat payload =
      compress::RowFormat::fp32;  ///< of rows on the wire (voltage, prism)
  /// Publish, go on with local work and wait when the peers' rows are needed; otherwise wait at
  /// once. Nothing: as the papers do, on for trace and off for the others.
  std::optional<bool> overlap;
  const compress::CodebookSet* codebooks = nullptr;  ///< astra and trace; outlives the strategy
  int level = -1;  ///< of the hierarchy, 0 the coarsest; -1: finest
  /// trace: who chooses the level; level stays -1 where somebody does.
  LevelControl level_control = LevelControl::fixed;
  compress::IndexBits index_bits = compress::IndexBits::wide;  ///< astra
  /// astra and trace; needs codebooks with tables of indices unless it is fixed.
  compress::IndexCoding index_coding = compress::IndexCoding::fixed;
  ClassToken class_token = ClassToken::partitioned;  ///< astra
  int micro_batches = 1;                             ///< M inputs in flight (pipeline)
  Io io = Io::replicated;
  Collect collect = Collect::last;
  /// Of the link: what needs preparing is prepared (astra, trace with OnLoss::reuse).
  fabric::OnLoss on_loss = fabric::OnLoss::retransmit;
};

/// The part that one device plays.
struct DeviceRole {
  int device = 0;  ///< `devices` for the terminal
  int devices = 1;
  int threads = 1;
  std::vector<Index> lengths;  ///< N of the sequences that will come; workspace is made for them
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  int batch = 1;  ///< most sequences of a forward_batch(); workspace grows with it
  /// Of weights that a strategy packs for this device alone (tensor); outlives the strategy.
  std::pmr::memory_resource* weights = std::pmr::new_delete_resource();
};

/// What a pass leaves on a device; the views last until the next pass. With a terminal, only there.
struct Output {
  /// Logits [1, labels] or an embedding [1, hidden] on device 0 (pipeline: on the last one), or the
  /// local rows' logits [n_p, vocabulary]; else empty.
  MatrixView<const float> values;
  Slice rows;  ///< global rows of `values` (language models)
};

/// Looks into a pass: local hidden states and published payloads. Called outside compute, but
/// within the device's turn where the clock has turns: an observer must not wait for another device.
class Observer {
 public:
  virtual ~Observer() = default;
  /// index 0: after the embedding; l + 1: after block l (before a final LayerNorm).
  virtual void on_hidden(Index /*index*/, Slice /*rows*/, MatrixView<const float> /*local*/) {}
  virtual void on_published(Index /*exchange*/, std::span<const std::byte> /*payload*/) {}
  /// Rows that are about to be sent as indices [rows * groups], own rows only.
  virtual void on_quantised(Index /*exchange*/, MatrixView<const float> /*rows*/,
                            std::span<const std::int32_t> /*indices*/) {}
};

/// One sequence of a batch, and who looks into its pass; both outlive the pass.
struct BatchItem {
  const model::ModelInput* input = nullptr;
  Observer* observer = nullptr;
  std::uint64_t number = 0;  ///< which inference it is: what its losses are drawn for
};

/// Takes the output of the batch's sequence `item`, whose views last until it returns. As an
/// Observer, it must not wait for another device.
using OutputReader = std::function<void(std::size_t item, const Output& output)>;

/// A way to run a model on several devices. One object a device, made for one configuration.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// One sequence through the model; collective over all devices. No allocation after the first
  /// pass of a length. Throws Error for a length that was not announced in DeviceRole::lengths.
  virtual Output forward(const model::ModelInput& input, fabric::Fabric& fabric,
                         Observer* observer = nullptr) = 0;
  /// Several sequences, of any announced lengths, each with the answer, the payloads and the
  /// operations of a pass of its own; collective. Where tokens are split, the rows of all sequences
  /// go through the weights together, which pays for short ones. Otherwise, and with a terminal,
  /// one pass follows the other. Equal to single passes to the bit where the kernels of the weights
  /// work on each row alike, however many there are (ops::Linear's do). No allocation after the
  /// first pass of a batch of these lengths. Throws Error for more than DeviceRole::batch
  /// sequences.
  virtual void forward_batch(std::span<const BatchItem> batch, fabric::Fabric& fabric,
                             const OutputReader& read);
};

/// One line a strategy: explicit, since a self-registering static would be dropped from an archive.
struct StrategyEntry {
  std::string_view name, summary;
  std::unique_ptr<Strategy> (*make)(const model::Model&, const StrategyOptions&, const DeviceRole&);
  /// The codebooks it needs, with its default switches; nothing for strategies without.
  std::optional<compress::CodebookUse> codebooks;
  bool splits_tokens = true;  ///< the sequence-parallel family: its exchanges may overlap
  bool is_exact = false;      ///< the single device's answer, but for rounding
};
std::span<const StrategyEntry> strategies();
std::vector<std::string_view> strategy_names();

/// Throws InputError with a suggestion for an unknown name, and for options that do not fit
/// (P > N, L > n_p).
std::unique_ptr<Strategy> make_strategy(std::string_view name, const model::Model& model,
                                        const StrategyOptions& options, const DeviceRole& role);

}  // namespace thinwire::strategy
