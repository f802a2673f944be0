#pragma once
#include "thinwire/harness/result_comparison.hpp"

namespace thinwire::cli {

/// For people, on stdout: a line a pair and link setting, counts that differ, the geometric mean.
void print_comparison(const harness::ResultComparison& comparison);

}  // namespace thinwire::cli
