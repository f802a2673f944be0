#include "thinwire/harness/sweep_runner.hpp"

#include <algorithm>
#include <map>

#include "thinwire/base/error.hpp"
#include "thinwire/cost/modelled_time.hpp"
#include "thinwire/cost/overlap.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/harness/progress.hpp"

namespace thinwire::harness {
namespace {

/// Expected work of a point, in FLOPs; 0 when it cannot fit.
double work_of(const Point& point) {
  double work = 0;
  for (const cost::Prediction& prediction : point.predictions)
    work += static_cast<double>(prediction.total_flops(Convention::paper));
  return work * (point.spec.iterations + point.spec.warmup);
}

std::string label_of(const RunSpec& spec) {
  std::string label = fmt::format("{} {} P={}", spec.model, spec.strategy, spec.devices);
  if (spec.segments) label += fmt::format(" L={}", *spec.segments);
  if (spec.compression_rate) label += fmt::format(" CR={}", *spec.compression_rate);
  if (spec.active_codewords) label += fmt::format(" K={}", *spec.active_codewords);
  return label;
}

std::vector<double> work_of(const std::vector<RunSpec>& points,
                            const std::vector<std::size_t>& indices) {
  std::vector<double> work;
  for (const std::size_t index : indices) work.push_back(work_of(make_point(points[index])));
  return work;
}

/// Of the weights in a folder; presets need none.
std::string folder_fingerprint(const RunSpec& spec) {
  return model::is_preset(spec.model) ? ""
                                      : model::open_checkpoint(spec.model).weights->fingerprint();
}

/// Indices of the points that a file lacks.
std::vector<std::size_t> remaining(const std::vector<RunSpec>& points, const ResultFile& file,
                                   Source source) {
  std::map<std::string, std::string> models;  // fingerprints; each folder is read once
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [entry, is_new] = models.try_emplace(points[i].model);
    if (is_new) entry->second = folder_fingerprint(points[i]);
    RunSpec spec = points[i];
    const auto codebook = resolve_codebook(spec, resolve_config(spec));  // an id names its level
    const Fingerprints fingerprints{entry->second, codebook ? codebook->fingerprint : ""};
    if (!file.finished_ids().contains(spec_id(spec, to_string(source), fingerprints)))
      indices.push_back(i);
  }
  return indices;
}

SweepCounts counts_before(const std::vector<RunSpec>& points, std::size_t remaining) {
  return {.already_there = static_cast<int>(points.size() - remaining)};
}

Result skipped(const Point& point, Source source) {
  Result result = unfinished(point.spec, source, Status::skipped, point.skip_reason);
  result.model_fingerprint = folder_fingerprint(point.spec);
  result.codebook = point.codebook;
  return result;
}

/// What the modelled clock would show, [link][iteration][member]; empty without device rates.
Times modelled_times(const Point& point) {
  const std::vector<double> rates = point.spec.flops_per_s_per_device();
  if (rates.empty()) return {};
  Times times;
  for (const fabric::Link& link : point.spec.links()) {
    std::vector<fabric::LinkTimes> members;
    for (const cost::DeviceTime& time :
         cost::modelled_time(point.predictions, link, rates, point.spec.slowness_per_device()))
      members.push_back(
          {time.compute_s, time.wait_s, time.hidden_s, time.skew_s, time.milestone_s});
    times.push_back({std::move(members)});
  }
  return times;
}

void count(SweepCounts& counts, Status status) {
  switch (status) {
    case Status::ok:
      ++counts.done;
      break;
    case Status::skipped:
      ++counts.skipped;
      break;
    case Status::failed:
      ++counts.failed;
      break;
  }
}

/// The root's result of a point: what it showed, or why it cannot fit, or how it failed.
std::optional<Result> run_or_explain(Session& session, const Point& point,
                                     const std::function<void(double)>& on_progress) {
  if (!point.skip_reason.empty())
    return session.is_root() ? std::optional(skipped(point, Source::measured)) : std::nullopt;
  try {
    return session.run(point, on_progress);
  } catch (const std::exception& error) {
    if (!session.is_root()) throw;
    return unfinished(point.spec, Source::measured, Status::failed, error.what());
  }
}

}  // namespace

Result predict_point(const Point& point) {
  if (!point.skip_reason.empty()) return skipped(point, Source::predicted);
  Result result{.spec = point.spec, .source = Source::predicted, .predictions = point.predictions};
  result.model_fingerprint = open_weights(point.spec, point.config)->fingerprint();
  for (const model::ModelInput& sequence : point.sample.sequences)
    result.tokens.push_back(sequence.tokens(point.config));
  result.environment = environment({});
  result.codebook = point.codebook;
  result.times = modelled_times(point);
  if (const std::vector<double> rates = point.spec.flops_per_s_per_device(); !rates.empty())
    result.windows_s = {cost::modelled_windows_s(point.predictions.front(), rates,
                                                 point.spec.slowness_per_device())};
  return result;
}

void check_points(const std::vector<RunSpec>& points) {
  for (const RunSpec& spec : points) make_point(spec);
}

int most_ranks(const std::vector<RunSpec>& points) {
  return std::ranges::max(points, {}, &RunSpec::ranks).ranks();
}

SweepCounts predict_sweep(const std::vector<RunSpec>& points, ResultFile& file) {
  const std::vector<std::size_t> pending = remaining(points, file, Source::predicted);
  SweepCounts counts = counts_before(points, pending.size());
  for (const std::size_t index : pending) {
    const Result result = predict_point(make_point(points[index]));
    count(counts, result.status);
    file.append(to_json(result));
  }
  return counts;
}

SweepCounts run_sweep(Session& session, const std::vector<RunSpec>& points, ResultFile* file) {
  TW_REQUIRE(session.is_root() == (file != nullptr), "the root alone writes records");
  // The root has read the file; the others hear from it what is left to do.
  const Json own = file != nullptr ? Json(remaining(points, *file, Source::measured)) : Json();
  const auto pending = Json::parse(session.share(own.dump())).get<std::vector<std::size_t>>();

  SweepCounts counts = counts_before(points, pending.size());
  std::optional<Progress> progress;
  if (session.is_root()) progress.emplace(work_of(points, pending));
  for (const std::size_t index : pending) {
    const Point point = make_point(points[index]);
    if (progress && point.skip_reason.empty()) progress->start_point(label_of(point.spec));
    const std::optional<Result> result = run_or_explain(session, point, [&](double part) {
      if (progress) progress->advance(part);
    });
    if (!result) continue;
    file->append(to_json(*result));
    count(counts, result->status);
    if (result->status == Status::skipped)
      progress->skip_point();
    else
      progress->finish_point();
    // The others cannot know; the job ends, and a restart goes on behind the points that are there.
    if (result->status == Status::failed && session.ranks() > 1) throw Error(result->reason);
  }
  return counts;
}

}  // namespace thinwire::harness
