#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "thinwire/base/dtype.hpp"
#include "thinwire/base/operations.hpp"
#include "thinwire/base/partition.hpp"
#include "thinwire/compress/index_coding.hpp"
#include "thinwire/compress/row_format.hpp"
#include "thinwire/compress/segments.hpp"
#include "thinwire/fabric/loss.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::cost {

/// One forward pass of one sequence, as far as its cost depends on it.
struct Workload {
  model::ModelConfig model;
  Index tokens = 0;  ///< N
  std::string_view strategy = "single";
  int devices = 1;            ///< P
  int threads = 1;            ///< a device, for its scratch memory
  DType dtype = DType::fp32;  ///< of products, for the memory of weights
  PartitionPolicy partition = PartitionPolicy::paper;
  std::vector<double> weights;  ///< for PartitionPolicy::weighted
  Index segments = 0;           ///< L, prism
  compress::Scaling scaling = compress::Scaling::on;
  compress::RowFormat payload = compress::RowFormat::fp32;  ///< voltage, prism
  std::optional<bool> overlap;  ///< nothing: on for trace, off for the others
  Index codewords = 0;          ///< K, astra and trace
  Index active_codewords = 0;   ///< K_m of the level in use; 0: K
  std::vector<Index> levels;    ///< trace: sizes of all levels; empty: 2, 4, 8, 32 below K, then K
  Index groups = 1;             ///< G, astra
  compress::IndexBits index_bits = compress::IndexBits::wide;  ///< astra
  compress::IndexCoding index_coding = compress::IndexCoding::fixed;
  /// Bits that an index of each exchange takes on average, of index codings other than fixed: what
  /// is predicted is then an expectation. Empty: the worst case.
  std::vector<double> expected_index_bits;
  std::int64_t index_tables_bytes = 0;  ///< of all levels, of index codings other than fixed
  bool replicates_class_token = false;  ///< astra
  compress::Buffers buffers = compress::Buffers::kv;  ///< trace-b, trace-2a
  int micro_batches = 1;                              ///< M, pipeline
  bool has_terminal = false;                          ///< io=terminal (METHODS 7)
  /// What receivers must keep something for: skip and reuse, on a link that loses packets.
  fabric::OnLoss on_loss = fabric::OnLoss::retransmit;
  bool collects_all = false;  ///< language models: every row's logits, not the last row's alone
};

/// Memory of one device, in bytes.
struct Memory {
  std::int64_t weights = 0;  ///< parameters held (a tied table that is also packed: twice)
  /// fp32: what a sender searches, what a receiver dequantises by; tables of index codings
  std::int64_t codebooks = 0;
  std::int64_t buffers = 0;      ///< fp16, precomputed for every codeword (trace-b, trace-2a)
  std::int64_t activations = 0;  ///< the workspace of a pass, receive buffers included
};

/// The work around one collective. Vectors have one entry a device, and `before` and `window` a
/// last one for the terminal where there is one (the others too for collectives it takes part in).
struct ScheduledExchange {
  enum class Kind {
    all_gather,
    gather,        ///< to device 0
    send_receive,  ///< device p to device to[p]
    scatter,       ///< bytes[p] from the terminal to device p; then Milestone::distributed
    collect,       ///< to the terminal; Milestone::computed when published
  };
  Kind kind = Kind::all_gather;
  std::vector<std::int64_t> bytes;                      ///< whole, header and padding included
  std::vector<std::int64_t> header_bits, padding_bits;  ///< empty: none
  std::vector<int> to;                                  ///< send_receive: receivers, -1 for none
  bool is_first_output = false;                         ///< Milestone::first_output when published
  std::vector<Operations> before;  ///< from the last wait (or the start) to publishing
  std::vector<Operations> window;  ///< from publishing to waiting; zero without overlap
};

/// What a pass will cost (ACCOUNTING 1 and 2), without running it.
struct Prediction {
  std::vector<Operations> device_operations;                        ///< [P]
  std::vector<std::int64_t> payload_bits;                           ///< [P] sent in one inference
  std::vector<std::int64_t> header_bits, padding_bits, wire_bytes;  ///< [P]
  std::vector<ScheduledExchange> exchanges;
  std::vector<Operations> tail;  ///< [P] after the last exchange
  std::vector<Memory> memory;    ///< [P]
  /// The terminal's share; zero without one. Not in the totals over devices.
  Operations terminal_operations;
  std::int64_t terminal_wire_bytes = 0;
  /// Inputs that one iteration answers: M for a pipeline, else 1. Everything above is an
  /// iteration's.
  int inputs = 1;
  /// Of a block in the middle, all devices together; zero for tensor and pipeline.
  Operations block_operations;
  /// Once a codebook is loaded, apart from every pass.
  Operations calibration;

  // The papers' formulas; NaN where they have no meaning.
  double pdplc_tokens = 0;                 ///< tokens a device sends a layer, unicast
  double compression_rate = 0;             ///< realised: uncompressed / compressed tokens
  double nominal_bits_per_exchange = 0;    ///< exchanges >= 1, one device, as a broadcast
  double nominal_bits_first_exchange = 0;  ///< exchange 0
  double nominal_bits_per_inference = 0;
  /// B; all-reduces (tensor: 2 B) or hand-overs of an input (pipeline: P - 1); 0 without peers.
  std::int64_t nominal_exchanges = 0;

  std::int64_t total_flops(Convention convention) const;
};

/// Throws InputError for a configuration that cannot run (unknown strategy, P > N, L > n_p).
Prediction predict(const Workload& workload);

}  // namespace thinwire::cost
