#pragma once
#include <valgrind/callgrind.h>

#include <string>

namespace thinwire::instructions {

struct Plan {
  int passes = 1;
  int wasted = 0;  ///< instructions (about) that every pass takes for nothing: a made regression
};

[[gnu::noinline]] inline void waste(int instructions) {
  for (volatile int left = instructions / 5; left > 0;) left = left - 1;
}

/// Has callgrind count `plan.passes` calls of `pass` and write a dump of that name. What the first
/// call makes and keeps (primitives, workspace) is not counted: it runs once more, before.
inline void count(const std::string& name, const Plan& plan, const auto& pass) {
  pass();
  CALLGRIND_START_INSTRUMENTATION;
  for (int i = 0; i < plan.passes; ++i) {
    pass();
    if (plan.wasted > 0) waste(plan.wasted);
  }
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(name.c_str());
}

/// What a device does to code its rows and to read those of others, piece by piece.
void count_coding(const Plan& plan);

}  // namespace thinwire::instructions
