#pragma once
#include "thinwire/harness/record.hpp"

namespace thinwire::harness {

/// The "codebook" section of a record: which codebooks, and what making their buffers took; null
/// for strategies without.
Json codebook_section(const Result& result);

/// The overlap law of ACCOUNTING 3, an entry an exchange of the first sequence; null unless the
/// strategy's exchanges overlap with local work whose time is known.
Json overlap_section(const Result& result);

/// The "time" section of a record.
Json time_section(const Result& result);

/// Joules of one inference under `link`, of the mean times of its iterations ([iteration][member]);
/// null unless the spec states powers and times are known.
Json energy_section(const Result& result, const fabric::Link& link,
                    const std::vector<std::vector<fabric::LinkTimes>>& iterations);

/// One link setting as records name it.
Json link_json(const fabric::Link& link);

/// Bits on the link in one iteration by formula, copies included.
std::int64_t predicted_link_bits(const Result& result, const fabric::Link& link);

/// What was counted, else what the formula says; null without either.
Json link_bits_json(const Result& result, std::size_t link);

}  // namespace thinwire::harness
