#pragma once
#include <functional>
#include <optional>
#include <string>

#include "thinwire/harness/eval_data.hpp"
#include "thinwire/harness/eval_single.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/session.hpp"

namespace thinwire::harness {

/// Evaluates data sets. Every rank of the session is one replica, which plays all devices of a
/// point as threads; the ranks share the samples, every R-th each, and answers do not depend on
/// how many there are.
class Evaluation {
 public:
  /// scores: file to which a line with every sample's score is appended a point; "": none
  explicit Evaluation(std::string scores = {}) : scores_(std::move(scores)) {}

  /// make_eval_point, with data sets kept from point to point.
  Point make(RunSpec spec, FingerprintCache& fingerprints);
  /// Rank 0 gets the record's content. Collective over all ranks.
  ///   on_progress  told the part of its own samples that this rank has done, 0 to 1
  std::optional<Result> run(Session& session, const Point& point,
                            const std::function<void(double)>& on_progress);

 private:
  std::string scores_;
  DataSets data_;
  SingleDevice single_;
};

}  // namespace thinwire::harness
