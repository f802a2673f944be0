#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "thinwire/base/operations.hpp"
#include "thinwire/base/partition.hpp"
#include "thinwire/compress/segments.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::cost {

/// One forward pass of one sequence, as far as its cost depends on it.
struct Workload {
  model::ModelConfig model;
  Index tokens = 0;  ///< N
  std::string_view strategy = "single";
  int devices = 1;  ///< P
  int threads = 1;  ///< a device, for its scratch memory
  PartitionPolicy partition = PartitionPolicy::paper;
  std::vector<double> weights;  ///< for PartitionPolicy::weighted
  Index segments = 0;           ///< L, prism
  compress::Scaling scaling = compress::Scaling::on;
};

/// Memory of one device, in bytes.
struct Memory {
  std::int64_t weights = 0;  ///< parameters held, fp32 (a tied table that is also packed: twice)
  std::int64_t buffers = 0;  ///< precomputed tables of a strategy
  std::int64_t activations = 0;  ///< the workspace of a pass, receive buffers included
};

/// The work around one collective. Vectors have one entry a device.
struct ScheduledExchange {
  enum class Kind { all_gather, gather };  ///< gather: to device 0
  Kind kind = Kind::all_gather;
  std::vector<std::int64_t> bytes;
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

  // The papers' formulas; NaN where they have no meaning.
  double pdplc_tokens = 0;                 ///< tokens a device sends a layer, unicast
  double compression_rate = 0;             ///< realised: uncompressed / compressed tokens
  double nominal_bits_per_exchange = 0;    ///< exchanges >= 1, one device, as a broadcast
  double nominal_bits_first_exchange = 0;  ///< exchange 0
  double nominal_bits_per_inference = 0;
  std::int64_t nominal_exchanges = 0;  ///< B, or 0 when nothing is exchanged

  std::int64_t total_flops(Convention convention) const;
};

/// Throws InputError for a configuration that cannot run (unknown strategy, P > N, L > n_p).
Prediction predict(const Workload& workload);

}  // namespace thinwire::cost
