#pragma once
#include <span>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/harness/capture.hpp"
#include "thinwire/harness/point.hpp"

namespace thinwire::harness {

/// What the run says about its input, beside the single device's answer (a record's "answer"):
/// the five likeliest classes, a pair's cosine beside its score, perplexity, or the next token
/// where a terminal collects one row alone; and how far the last hidden states are apart.   split,
/// single: one Capture a sequence
Json answer_record(const Point& point, std::span<const Capture> split,
                   std::span<const Capture> single);

/// Of a pair's two embeddings.
double pair_cosine(std::span<const Capture> captures);

/// Writes `logits` or `embedding` of every sequence, and with spec.hidden one `hidden.<l>` a block
/// (l = 0: after the embedding) and `indices.<l>` of each exchange that sends them ([N] or [N, G]
/// in token order), to spec.outputs; the second sequence of a pair as `<name>.1`.
/// Throws InputError when the place cannot be written.
void write_outputs(const Point& point, std::span<const Capture> split);

}  // namespace thinwire::harness
