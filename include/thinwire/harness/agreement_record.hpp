#pragma once
#include <span>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/harness/capture.hpp"
#include "thinwire/harness/point.hpp"

namespace thinwire::harness {

/// Whether `spec` computes the single device's answer for sequences of `tokens` (N), but for
/// rounding: one device; with payloads of fp32 an exact strategy, or prism with a segment a row on
/// every device (METHODS 8).
/// A codebook that happens to hold every row cannot be told and counts as inexact.
bool is_exact(const RunSpec& spec, Index tokens);

/// How far the outputs and the hidden states are from the single device's (a record's
/// checks.agreement): rows (of outputs that were compared), top1 (share of them), kl_divergence
/// (nats), output_cosine, largest_relative_difference and hidden_cosine (one a hidden state,
/// embedding first, mean over real rows); means over the sequences, the largest difference. `exact`
/// says whether a configuration that is_exact keeps its bounds, null for others; `broken` says
/// which it does not.
///   split, single: one Capture a sequence; of a language model `split` may hold the last rows
///   alone
Json agreement_record(const Point& point, std::span<const Capture> split,
                      std::span<const Capture> single);

}  // namespace thinwire::harness
