#pragma once
#include "thinwire/harness/eval_data.hpp"
#include "thinwire/harness/eval_formation.hpp"
#include "thinwire/harness/point.hpp"

namespace thinwire::harness {

/// A spec with --data, resolved: model, codebook, samples, metric, and what its longest sample
/// costs.
/// Throws InputError for what is wrong whatever the sizes; what merely does not fit is a
/// skip_reason, which names the sample.
Point make_eval_point(RunSpec spec, FingerprintCache& fingerprints, DataSets& data);

/// Operations of all devices over all samples, by formula: what an evaluation's time goes by.
double predicted_flops(const Point& point);

}  // namespace thinwire::harness
