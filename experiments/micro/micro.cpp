// Runs the benchmarks on OMP_NUM_THREADS threads that stay on their cores, and says in the output's
// context what they were built from.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "thinwire/base/json.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"

int main(int argc, char** argv) {
  const thinwire::Json environment = thinwire::harness::environment({});
  for (const char* key : {"thinwire", "git_revision", "cpu", "compiler"})
    if (environment[key].is_string())
      benchmark::AddCustomContext(key, environment[key].get<std::string>());
  benchmark::AddCustomContext("onednn", thinwire::ops::onednn_version());
  benchmark::AddCustomContext("threads", fmt::format("{}", thinwire::ops::threads()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const thinwire::ops::ThreadBinding binding(thinwire::ops::allowed_cores());
  benchmark::RunSpecifiedBenchmarks();
}
