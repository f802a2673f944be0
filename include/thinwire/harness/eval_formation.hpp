#pragma once
#include <span>
#include <vector>

#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// How sequences of some lengths run.
struct Formation {
  RunSpec spec;
  std::vector<Index> lengths;  ///< N, ascending
};

/// Real sentences can be shorter than a configuration allows (METHODS 2 and 3.1 refuse them in a
/// single run). A strategy that splits tokens then takes as many devices as there are tokens, and
/// prism as many segments as the smallest part has rows, which is lossless for that part. All other
/// lengths run as `spec` says, first in the list if there are any.
///   lengths  N, each once
std::vector<Formation> make_formations(const RunSpec& spec, std::span<const Index> lengths);

/// The one of `formations` that runs sequences of `tokens`.
const Formation& formation_of(std::span<const Formation> formations, Index tokens);

}  // namespace thinwire::harness
