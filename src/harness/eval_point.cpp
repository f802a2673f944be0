#include "thinwire/harness/eval_point.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"
#include "thinwire/harness/auto_partition.hpp"
#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {
namespace {

/// The first sample with a sequence of `tokens`.
Index sample_with(const DataSet& data, Index tokens) {
  const auto found = std::ranges::find_if(data.tokens, [tokens](const std::vector<Index>& sample) {
    return std::ranges::find(sample, tokens) != sample.end();
  });
  return data.samples.first + (found - data.tokens.begin());
}

/// Why some sample cannot run, or "".
std::string misfit_of(const DataSet& data, std::span<const Formation> formations,
                      const model::ModelConfig& config) {
  for (const Formation& formation : formations)
    for (const Index tokens : formation.lengths)
      if (const auto reason = misfit(formation.spec, config, tokens))
        return fmt::format("sample {} of {}: {}", sample_with(data, tokens), formation.spec.data,
                           *reason);
  return "";
}

/// Time is modelled, so that what follows from it does not depend on the machine.
void resolve_clock(RunSpec& spec) {
  if (!spec.has_timed_evaluation()) return;
  require_input(!spec.device_gflops.empty(),
                "--data={} with {}: --device-gflops (such as 10) is needed to model time",
                spec.data,
                spec.depends_on_link() ? "a level that depends on times" : "--rate-trace");
  spec.clock = fabric::Clock::modelled;
}

}  // namespace

Point make_eval_point(RunSpec spec, FingerprintCache& fingerprints, DataSets& data) {
  require_input(!spec.data.empty(), "--data is needed: the file whose samples are evaluated");
  Point point;
  point.config = resolve_config(spec);
  check_options(spec, &point.config);
  resolve_clock(spec);
  point.codebook = resolve_codebook(spec, point.config, fingerprints);
  point.data = data.get(spec, point.config, fingerprints);
  spec.samples = point.data->samples;
  resolve_metric(spec, *point.data, point.config);
  point.lengths = point.data->lengths();

  const Index longest = point.data->longest();
  const std::vector<Index>& tokens = point.data->tokens_of(longest);
  resolve_rows(spec, point.config, std::ranges::max(tokens));
  point.spec = std::move(spec);
  const std::vector<Formation> formations = make_formations(point.spec, point.lengths);
  point.skip_reason = misfit_of(*point.data, formations, point.config);
  if (!point.skip_reason.empty()) return point;
  for (const Index length : tokens) {
    const RunSpec& own = formation_of(formations, length).spec;
    point.predictions.push_back(cost::predict(to_workload(own, point.config, length)));
    add_bounds(point.coding_bounds, own, point.config, length);
  }
  return point;
}

double predicted_flops(const Point& point) {
  if (!point.skip_reason.empty()) return 0;
  const std::vector<Formation> formations = make_formations(point.spec, point.lengths);
  std::map<Index, double> of_length;
  for (const Index tokens : point.lengths) {
    const RunSpec& spec = formation_of(formations, tokens).spec;
    const cost::Prediction prediction = cost::predict(to_workload(spec, point.config, tokens));
    of_length[tokens] = static_cast<double>(prediction.total_flops(Convention::paper));
  }
  double flops = 0;
  for (const std::vector<Index>& sample : point.data->tokens)
    for (const Index tokens : sample) flops += of_length.at(tokens);
  return flops;
}

}  // namespace thinwire::harness
