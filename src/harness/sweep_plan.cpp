#include "thinwire/harness/sweep_plan.hpp"

#include <algorithm>

#include "thinwire/harness/eval_data.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/session.hpp"

namespace thinwire::harness {
namespace {

double work_of(const Point& point) {
  double work_flops = 0;
  for (const cost::Prediction& prediction : point.predictions)
    work_flops += static_cast<double>(prediction.total_flops(Convention::paper));
  return work_flops * (point.spec.iterations + point.spec.warmup);
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
  return {
      .make =
          [](RunSpec spec, FingerprintCache& fingerprints) {
            return make_point(std::move(spec), fingerprints);
          },
      .flops = work_of,
      .run =
          [](Session& session, const Point& point, const std::function<void(double)>& on_progress) {
            return session.run(point, on_progress);
          }};
}

std::vector<PlannedPoint> plan_points(const std::vector<RunSpec>& points, Source source,
                                      const PointWork& work) {
  FingerprintCache cache;
  std::vector<PlannedPoint> plan;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point point = work.make(points[i], cache);
    const Fingerprints fingerprints{folder_fingerprint(point.spec, cache),
                                    point.codebook ? point.codebook->fingerprint : "",
                                    point.data ? point.data->fingerprint : ""};
    plan.push_back({i, spec_id(point.spec, to_string(source), fingerprints), work.flops(point)});
  }
  return plan;
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
