#pragma once
#include "thinwire/harness/plan.hpp"

namespace thinwire::cli {

/// A plan for people, on stdout: the best strategy and how to run it, a table of those that meet
/// the budget and one of those that do not, and the best over the rates of the link.
void print_plan(const harness::Plan& plan);

}  // namespace thinwire::cli
