#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/harness/point.hpp"
#include "thinwire/harness/record.hpp"
#include "thinwire/harness/result_file.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

class Session;

/// What is done with the points of a sweep: each is timed, or evaluates a data set (eval_run.hpp).
struct PointWork {
  /// Resolves a spec; files that the cache knows are not hashed again.
  std::function<Point(RunSpec, FingerprintCache&)> make;
  /// Expected operations, for the time left.
  std::function<double(const Point&)> flops;
  /// Session::run, or its like, of points that one execution serves.
  std::function<std::vector<Result>(Session&, std::span<const Point>,
                                    const std::function<void(double)>&)>
      run;
};
/// Warm-up and iterations: what `sweep` does.
PointWork timing();

/// What is known of a sweep's point before it runs.
struct PlannedPoint {
  std::size_t index = 0;  ///< among the sweep's points
  std::string id;         ///< of its record
  double work_flops = 0;  ///< expected, of all iterations; 0 when it cannot fit
  /// Equal for points that one execution serves, which stand together in a plan; "" for one alone.
  std::string execution;
};

/// Checks every point. Reads the headers of models, codebooks and inputs, and hashes each file
/// once. Points that one execution serves follow the first of them; the others keep their order.
/// Throws InputError for a point that is wrong whatever the sizes.
std::vector<PlannedPoint> plan_points(const std::vector<RunSpec>& points, Source source,
                                      const PointWork& work = timing());
/// The same; `fingerprints` learns what was hashed.
std::vector<PlannedPoint> plan_points(const std::vector<RunSpec>& points, Source source,
                                      const PointWork& work, FingerprintCache& fingerprints);

/// Which points of a sweep run.
enum class Selection {
  unfinished,  ///< those without an ok or skipped record: a restart resumes
  all,
  failed,  ///< those whose latest record is failed
  fresh,   ///< those without any record
};

/// Those of `plan` that are selected, except what has been recorded since the file had `since`
/// bytes: that is where this sweep began, which may have taken several jobs.
std::vector<PlannedPoint> pending_points(const std::vector<PlannedPoint>& plan,
                                         const ResultFile& file, Selection selection,
                                         std::int64_t since);

/// The leading points of `points` that one execution serves; at least one.
std::span<const PlannedPoint> next_execution(std::span<const PlannedPoint> points);

/// The record of a point that failed, under the id that it would have had.
Json failed_record(const RunSpec& spec, const std::string& id, const std::string& reason);

/// "vit-base-16 prism P=2 L=10", for people.
std::string label_of(const RunSpec& spec);

}  // namespace thinwire::harness
