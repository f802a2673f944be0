#include "thinwire/harness/sweep_runner.hpp"

#include <algorithm>
#include <memory>

#include "sweep_journal.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/modelled_time.hpp"
#include "thinwire/cost/overlap.hpp"
#include "thinwire/fabric/watchdog.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/harness/eval_data.hpp"
#include "thinwire/harness/progress.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

SweepCounts counts_before(std::size_t points, std::size_t pending) {
  return {.already_there = static_cast<int>(points - pending)};
}

Result skipped(const Point& point, Source source, FingerprintCache& fingerprints) {
  Result result = unfinished(point.spec, source, Status::skipped, point.skip_reason);
  result.model_fingerprint = folder_fingerprint(point.spec, fingerprints);
  result.codebook = point.codebook;
  if (point.data) result.data_fingerprint = point.data->fingerprint;
  return result;
}

/// What the modelled clock would show, [link][iteration][member]; empty without device rates. One
/// iteration, which all are like, or every one where the link changes.
Times modelled_times(const Point& point) {
  const std::vector<double> rates = point.spec.flops_per_s_per_device();
  if (rates.empty()) return {};
  Times times;
  for (const fabric::Link& link : point.spec.links()) {
    // A trace goes on, and chance makes iterations differ.
    const bool varies = link.trace || link.loss.repeats();
    auto& iterations = times.emplace_back();
    for (int i = 0; i < (varies ? point.spec.iterations : 1); ++i) {
      std::vector<fabric::LinkTimes>& members = iterations.emplace_back();
      for (const cost::DeviceTime& time :
           cost::modelled_time(point.predictions, link, rates, point.spec.slowness_per_device(), i))
        members.push_back(
            {time.compute_s, time.wait_s, time.hidden_s, time.skew_s, time.milestone_s});
    }
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

/// "vit-base-16 prism P=2 L=10, 3 points in one execution"
std::string label_of(std::span<const Point> points) {
  std::string label = label_of(points.front().spec);
  if (points.size() > 1) label += fmt::format(", {} points in one execution", points.size());
  return label;
}

/// What the root has chosen to run; the others hear it.
struct Agenda {
  std::int64_t since = 0;
  std::vector<PlannedPoint> pending;
  FingerprintCache::Known fingerprints;
};

Agenda share_agenda(Session& session, const Agenda& of_root) {
  Json text = {
      {"since", of_root.since}, {"pending", Json::array()}, {"fingerprints", of_root.fingerprints}};
  for (const PlannedPoint& point : of_root.pending)
    text["pending"].push_back({point.index, point.id, point.work_flops, point.execution});
  // A path that is no UTF-8 arrives changed, and its file is hashed again.
  const Json shared =
      Json::parse(session.share(text.dump(-1, ' ', false, Json::error_handler_t::replace)));
  Agenda agenda{shared.at("since").get<std::int64_t>(),
                {},
                shared.at("fingerprints").get<FingerprintCache::Known>()};
  for (const Json& point : shared.at("pending"))
    agenda.pending.push_back({point.at(0).get<std::size_t>(), point.at(1).get<std::string>(),
                              point.at(2).get<double>(), point.at(3).get<std::string>()});
  return agenda;
}

/// A plan's times, where points that one execution serves take the time of the first.
std::vector<double> work_by_execution(std::span<const PlannedPoint> points) {
  std::vector<double> work;
  while (!points.empty()) {
    const std::size_t together = next_execution(points).size();
    work.push_back(points.front().work_flops);
    work.resize(work.size() + together - 1, 0.0);
    points = points.subspan(together);
  }
  return work;
}

/// Runs the points of an agenda on this rank.
class SweepRun {
 public:
  SweepRun(Session& session, ResultFile* file, const SweepOptions& options, const Agenda& agenda,
           const std::string& json)
      : session_(session),
        file_(file),
        options_(options),
        fingerprints_(agenda.fingerprints),
        journal_(std::make_shared<SweepJournal>(json, agenda.since)) {
    // The journal outlives this object: another thread may end the job while an exception unwinds.
    session.on_abort([journal = journal_](const std::string& reason) { journal->fail(reason); });
    if (!session.is_root()) return;
    progress_.emplace(work_by_execution(agenda.pending));
  }

  /// Runs points that one execution serves. The root's statuses; none on the others.
  std::vector<Status> run(const std::vector<NamedPoint>& points) {
    journal_->begin(points);
    std::vector<Result> results = run_or_explain(points);
    if (!results.empty()) finish(results, points);
    // A rank that fails with the next point must not end the job before the root has written.
    session_.everyone().meet();
    std::vector<Status> statuses;
    for (const Result& result : results) statuses.push_back(result.status);
    return statuses;
  }

 private:
  void finish(std::vector<Result>& results, const std::vector<NamedPoint>& points) {
    std::vector<Json> records;
    for (std::size_t i = 0; i < results.size(); ++i) {
      Result& result = results[i];
      if (results.size() > 1)
        result.shared_execution = {static_cast<int>(results.size()), points.front().id};
      records.push_back(result.status == Status::failed
                            ? failed_record(points[i].spec, points[i].id, result.reason)
                            : to_json(result));
    }
    journal_->finish(records, file_);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].status == Status::skipped)
        progress_->skip_point();
      else
        progress_->finish_point();
      if (options_.on_record) options_.on_record(records[i]);
    }
  }

  /// The root's results: what the points showed, or why one cannot fit. A failure ends the job
  /// where other ranks take part, since they cannot know; a process alone goes on.
  std::vector<Result> run_or_explain(const std::vector<NamedPoint>& named) {
    try {
      std::vector<Point> points;
      for (const NamedPoint& point : named)
        points.push_back(options_.work.make(point.spec, fingerprints_));
      return run_in_time(points);
    } catch (const std::exception& error) {
      if (session_.ranks() > 1) throw;
      std::vector<Result> failed;
      for (const NamedPoint& point : named)
        failed.push_back(unfinished(point.spec, Source::measured, Status::failed, error.what()));
      return failed;
    }
  }

  std::vector<Result> run_in_time(std::span<const Point> points) {
    const Point& point = points.front();
    if (!point.skip_reason.empty()) {  // then it is alone
      if (!session_.is_root()) return {};
      return {skipped(point, Source::measured, fingerprints_)};
    }
    if (progress_) progress_->start_point(label_of(points));
    // Never told of progress, a watchdog is a deadline. The root's will do for all.
    const fabric::Watchdog deadline(
        session_.is_root() ? options_.point_timeout : Seconds{}, [&](const std::string&) {
          session_.abort(fmt::format("a point took longer than --point-timeout={}",
                                     exact_text(options_.point_timeout)),
                         1);
        });
    return options_.work.run(session_, points, [&](double part) {
      if (progress_) progress_->advance(part);
    });
  }

  Session& session_;
  ResultFile* file_;
  const SweepOptions& options_;
  FingerprintCache fingerprints_;
  std::shared_ptr<SweepJournal> journal_;
  std::optional<Progress> progress_;
};

}  // namespace

Result predict_point(const Point& point) {
  FingerprintCache fingerprints;
  return predict_point(point, fingerprints);
}

Result predict_point(const Point& point, FingerprintCache& fingerprints) {
  if (!point.skip_reason.empty()) return skipped(point, Source::predicted, fingerprints);
  Result result{.spec = point.spec,
                .source = Source::predicted,
                .predictions = point.predictions,
                .coding_bounds = point.coding_bounds};
  result.model_fingerprint = model::is_preset(point.spec.model)
                                 ? open_weights(point.spec, point.config)->fingerprint()
                                 : folder_fingerprint(point.spec, fingerprints);
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

int most_ranks(const std::vector<RunSpec>& points) {
  return std::ranges::max(points, {}, &RunSpec::ranks).ranks();
}

SweepCounts predict_sweep(const std::vector<RunSpec>& points, const std::vector<PlannedPoint>& plan,
                          ResultFile& file) {
  const std::vector<PlannedPoint> pending =
      pending_points(plan, file, Selection::unfinished, end_of_records(file.path()));
  SweepCounts counts = counts_before(plan.size(), pending.size());
  FingerprintCache fingerprints;
  for (const PlannedPoint& planned : pending) {
    const Point point = make_point(points[planned.index], fingerprints);
    const Result result = predict_point(point, fingerprints);
    count(counts, result.status);
    file.append(to_json(result));
  }
  return counts;
}

SweepCounts run_sweep(Session& session, const std::vector<RunSpec>& points,
                      const std::vector<PlannedPoint>& plan, ResultFile* file,
                      const SweepOptions& options) {
  TW_REQUIRE(session.is_root() || file == nullptr, "the root alone writes records");
  Agenda own{.fingerprints = options.fingerprints.known()};
  if (file != nullptr) {
    own.since = options.since.value_or(end_of_records(file->path()));
    own.pending = pending_points(plan, *file, options.selection, own.since);
  } else if (session.is_root()) {
    own.pending = plan;
  }
  const Agenda agenda = share_agenda(session, own);
  SweepCounts counts = counts_before(plan.size(), agenda.pending.size());
  SweepRun run(session, file, options, agenda, points.front().json);
  for (std::span<const PlannedPoint> left = agenda.pending; !left.empty();) {
    const std::span<const PlannedPoint> together = next_execution(left);
    left = left.subspan(together.size());
    std::vector<NamedPoint> named;
    for (const PlannedPoint& planned : together)
      named.push_back({points[planned.index], planned.id});
    for (const Status status : run.run(named)) count(counts, status);
  }
  return counts;
}

SweepCounts counts_since(const std::vector<PlannedPoint>& plan, const ResultFile& file,
                         std::int64_t since) {
  SweepCounts counts;
  for (const PlannedPoint& point : plan) {
    const ResultFile::Latest* const latest = file.latest(point.id);
    if (latest == nullptr || latest->offset < since) continue;
    if (latest->status == "ok") ++counts.done;
    if (latest->status == "skipped") ++counts.skipped;
    if (latest->status == "failed") ++counts.failed;
  }
  return counts;
}

}  // namespace thinwire::harness
