#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "thinwire/cost/workload.hpp"

namespace thinwire::cost {

/// The rows of a sequence as one device sees them.
struct Share {
  Index replicated = 0;  ///< leading rows of which every device has a copy
  Index own = 0;         ///< rows it owns and publishes
  Index remote = 0;      ///< rows that its peers own

  Index local() const { return replicated + own; }  ///< n, the rows it computes
  Index tokens() const { return local() + remote; }
};

/// What tells the methods of the sequence-parallel family apart (METHODS 3), as far as it costs.
/// Exchange e precedes the attention of block e.
class FamilyMethod {
 public:
  virtual ~FamilyMethod() = default;

  virtual compress::Published published() const { return compress::Published::block_output; }
  virtual bool overlaps_by_default() const { return false; }

  /// c, key columns that a device attends over.
  virtual Index columns(const Share& share) const = 0;
  virtual compress::FrameSize payload(Index exchange, const Share& share) const = 0;
  /// What a sender does to its rows before it publishes them.
  virtual Operations encode(Index /*exchange*/, const Share& /*share*/) const { return {}; }
  /// What a receiver does to turn exchange `layer` into key columns of block `layer`.
  virtual Operations decode(Index layer, const Share& share) const = 0;
  /// Set-up of its tables, apart from every pass.
  virtual Operations calibration() const { return {}; }

  /// The papers' formula: bits that a device sends in an exchange, as a broadcast (ACCOUNTING 2).
  virtual double nominal_bits(Index exchange) const = 0;
  /// Tokens in a payload of exchanges >= 1; nothing for methods that send no token vectors.
  virtual std::optional<double> nominal_tokens() const { return std::nullopt; }

  /// Codebooks and buffers; weights and activations are not its business.
  virtual Memory tables() const { return {}; }
  /// What a device holds for encoding and decoding, beside the pass that all methods share.
  virtual std::int64_t workspace_bytes(const Share& share) const = 0;
};

/// Every device's share, `replicated` leading rows being on all of them.
/// Throws InputError when there are more devices than rows to own.
std::vector<Share> make_shares(const Workload& workload, Index replicated = 0);

// The methods. Throw InputError for options that do not fit the shares or the model.
using MethodPtr = std::unique_ptr<const FamilyMethod>;
MethodPtr make_voltage(const Workload& workload, std::span<const Share> shares);
MethodPtr make_prism(const Workload& workload, std::span<const Share> shares);
MethodPtr make_astra(const Workload& workload, std::span<const Share> shares);
MethodPtr make_trace_b(const Workload& workload, std::span<const Share> shares);
MethodPtr make_trace_2a(const Workload& workload, std::span<const Share> shares);
MethodPtr make_trace_nb(const Workload& workload, std::span<const Share> shares);
MethodPtr make_trace_1b(const Workload& workload, std::span<const Share> shares);

using MakeMethod = MethodPtr (*)(const Workload&, std::span<const Share>);
/// The prediction of a strategy whose method `make` gives: the pass and the papers' figures.
/// Throws InputError as make_shares and `make` do.
Prediction predict_member(const Workload& workload, MakeMethod make);

/// A pass of the family (METHODS 3). `method` is null for one device, which publishes nothing.
Prediction predict_family(const Workload& workload, const FamilyMethod* method,
                          const std::vector<Share>& shares);

/// Workspace of that pass on `device`, term by term what a strategy allocates.
std::int64_t family_activations_bytes(const Workload& workload, const FamilyMethod* method,
                                      const Share& share, int device);

}  // namespace thinwire::cost
