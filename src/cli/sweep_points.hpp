#pragma once
#include <string>
#include <vector>

#include "options.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::cli {

/// What `sweep` and `predict` work on: points of a document (the word SPEC) or of lists among the
/// options, and where the records go.
struct SweepPoints {
  std::vector<harness::RunSpec> points;
  std::string json;
};
SweepPoints sweep_points(const OptionParser::Parsed& parsed);

/// One line a point, on stdout, with what the result file says about it; how many there are and
/// would run, on stderr.
void print_points(const SweepPoints& sweep, const std::vector<harness::PlannedPoint>& plan,
                  harness::Selection selection);
/// "12 points done, 3 skipped (cannot fit), 0 failed, 5 already there", on stderr.
void print_counts(const harness::SweepCounts& counts);

}  // namespace thinwire::cli
