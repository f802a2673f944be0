#include "thinwire/harness/sweep_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "thinwire/harness/eval_data.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/session.hpp"
#include "thinwire/harness/shared_execution.hpp"

namespace thinwire::harness {
namespace {

double work_of(const Point& point) {
  double work_flops = 0;
  for (const cost::Prediction& prediction : point.predictions)
    work_flops += static_cast<double>(prediction.total_flops(Convention::paper));
  return work_flops * (point.spec.iterations + point.spec.warmup);
}

/// Every rank sends a ready time a link with each message: beyond this, executions are split.
constexpr std::size_t kMostLinks = 256;

/// Gives points that share an execution a common name, and puts them behind the first of them.
///   keys  [index of point] execution_key
std::vector<PlannedPoint> by_execution(std::vector<PlannedPoint> plan,
                                       const std::vector<RunSpec>& points,
                                       const std::vector<std::string>& keys) {
  struct Open {
    std::size_t place = 0;  // in `executions`
    std::size_t links = 0;
  };
  std::map<std::string, Open> open;
  std::vector<std::vector<PlannedPoint>> executions;
  for (PlannedPoint& point : plan) {
    const std::string& key = keys[point.index];
    const std::size_t links = points[point.index].links().size();
    const auto known = key.empty() ? open.end() : open.find(key);
    if (known != open.end() && known->second.links + links <= kMostLinks) {
      point.execution = executions[known->second.place].front().execution;
      known->second.links += links;
      executions[known->second.place].push_back(std::move(point));
      continue;
    }
    if (!key.empty()) {
      open[key] = {executions.size(), links};
      point.execution = point.id;
    }
    executions.push_back({std::move(point)});
  }
  plan.clear();
  for (std::vector<PlannedPoint>& together : executions)
    std::ranges::move(together, std::back_inserter(plan));
  return plan;
}

bool is_selected(const PlannedPoint& point, const ResultFile& file, Selection selection) {
  const ResultFile::Latest* const latest = file.latest(point.id);
  switch (selection) {
    case Selection::unfinished:
      return !file.finished_ids().contains(point.id);
    case Selection::all:
      return true;
    case Selection::failed:
      return latest != nullptr && latest->status == to_string(Status::failed);
    case Selection::fresh:
      return latest == nullptr;
  }
  return true;
}

}  // namespace

PointWork timing() {
  return {.make =
              [](RunSpec spec, FingerprintCache& fingerprints) {
                return make_point(std::move(spec), fingerprints);
              },
          .flops = work_of,
          .run =
              [](Session& session, std::span<const Point> points,
                 const std::function<void(double)>& on_progress) {
                return session.run(points, on_progress);
              }};
}

std::vector<PlannedPoint> plan_points(const std::vector<RunSpec>& points, Source source,
                                      const PointWork& work) {
  FingerprintCache fingerprints;
  return plan_points(points, source, work, fingerprints);
}

std::vector<PlannedPoint> plan_points(const std::vector<RunSpec>& points, Source source,
                                      const PointWork& work, FingerprintCache& cache) {
  std::vector<PlannedPoint> plan;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point point = work.make(points[i], cache);
    const Fingerprints fingerprints{folder_fingerprint(point.spec, cache),
                                    point.codebook ? point.codebook->fingerprint : "",
                                    point.data ? point.data->fingerprint : ""};
    plan.push_back(
        {i, spec_id(point.spec, to_string(source), fingerprints), work.flops(point), {}});
    keys.push_back(source == Source::measured ? execution_key(point) : "");
  }
  return by_execution(std::move(plan), points, keys);
}

std::vector<PlannedPoint> pending_points(const std::vector<PlannedPoint>& plan,
                                         const ResultFile& file, Selection selection,
                                         std::int64_t since) {
  std::vector<PlannedPoint> pending;
  std::ranges::copy_if(plan, std::back_inserter(pending), [&](const PlannedPoint& point) {
    const ResultFile::Latest* const latest = file.latest(point.id);
    const bool is_done = latest != nullptr && latest->offset >= since;
    return !is_done && is_selected(point, file, selection);
  });
  return pending;
}

std::span<const PlannedPoint> next_execution(std::span<const PlannedPoint> points) {
  const std::string& execution = points.front().execution;
  const auto end = std::ranges::find_if(points, [&](const PlannedPoint& point) {
    return execution.empty() || point.execution != execution;
  });
  return points.first(std::max<std::size_t>(1, static_cast<std::size_t>(end - points.begin())));
}

Json failed_record(const RunSpec& spec, const std::string& id, const std::string& reason) {
  Json record = to_json(unfinished(spec, Source::measured, Status::failed, reason));
  record["id"] = id;  // which knows model and codebook file by their contents
  return record;
}

std::string label_of(const RunSpec& spec) {
  std::string label = fmt::format("{} {} P={}", spec.model, spec.strategy, spec.devices);
  if (spec.segments) label += fmt::format(" L={}", *spec.segments);
  if (spec.compression_rate) label += fmt::format(" CR={}", *spec.compression_rate);
  if (spec.active_codewords) label += fmt::format(" K={}", *spec.active_codewords);
  return label;
}

}  // namespace thinwire::harness
