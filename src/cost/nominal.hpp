#pragma once
#include "thinwire/cost/family.hpp"

namespace thinwire::cost {

/// The papers' figures of a sequence-parallel method (ACCOUNTING 2); of one device alone, which
/// sends nothing, when `method` is null.
void add_nominal_figures(const Workload& workload, const FamilyMethod* method,
                         Prediction& prediction);

/// Of a strategy that the papers' figures do not describe: how often devices exchange something.
void add_exchange_count(std::int64_t exchanges, Prediction& prediction);

}  // namespace thinwire::cost
