#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thinwire/cost/workload.hpp"
#include "thinwire/eval/sample.hpp"
#include "thinwire/harness/codebook_choice.hpp"
#include "thinwire/harness/fingerprint_cache.hpp"
#include "thinwire/harness/index_coding_bounds.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/model/weight_source.hpp"

namespace thinwire::harness {

struct DataSet;

/// A spec with all that can be known before it runs: what run, sweep and predict work on.
struct Point {
  RunSpec spec;
  model::ModelConfig config;
  eval::Preprocessing preprocessing;
  std::optional<CodebookChoice> codebook;     ///< of strategies that have one
  eval::Sample sample;                        ///< the input, or a seeded random one
  std::vector<Index> lengths;                 ///< of the sequences, each once
  std::vector<cost::Prediction> predictions;  ///< one a sequence; empty when skipped
  IndexCodingBounds coding_bounds;            ///< of codings other than fixed
  std::shared_ptr<const DataSet> data;        ///< eval (eval_data.hpp): `sample` is its longest
  std::string skip_reason;                    ///< why it cannot fit (P > N, L > n_p, memory), or ""
};

/// Resolves the model, the codebook, the input and what is auto (rows by the first sequence, of
/// which others get shares), checks the spec against them and predicts.
/// Throws InputError for what is wrong whatever the sizes; what merely does not fit is a
/// skip_reason.
Point make_point(RunSpec spec);
/// The same; a file that `fingerprints` knows is not hashed again.
Point make_point(RunSpec spec, FingerprintCache& fingerprints);

/// Throws InputError with the reason when the point was skipped: a single run must fit.
void require_fit(const Point& point);

/// The model that a spec means, with the tokens it asks for.
model::ModelConfig resolve_config(const RunSpec& spec);

/// The weights that a spec runs with.
std::unique_ptr<model::WeightSource> open_weights(const RunSpec& spec,
                                                  const model::ModelConfig& config);

/// Of the weights in a folder; "" for presets, which need none.
std::string folder_fingerprint(const RunSpec& spec, FingerprintCache& fingerprints);

}  // namespace thinwire::harness
