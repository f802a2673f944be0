// Coded frames there and back: random, adversarial and empty sequences, and frames broken on the
// way. Says what became of them.
//
// Usage: frame_trials RUNS [SEED]       exit status 0 when every run went right
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "support/frame_trials.hpp"

int main(int argc, char** argv) {
  const long long runs = argc > 1 ? std::atoll(argv[1]) : 0;
  const unsigned long long seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (runs < 1) {
    std::fprintf(stderr, "usage: frame_trials RUNS [SEED]\n");
    return 2;
  }
  try {
    thinwire::test::FrameTrials trials(seed);
    for (long long i = 0; i < runs; ++i) trials.run_one();
    std::printf(
        "%lld runs: %lld frames coded, %lld fixed, all came back whole; broken: %lld refused, "
        "%lld were frames of other indices\n",
        runs, static_cast<long long>(trials.coded), static_cast<long long>(trials.fixed),
        static_cast<long long>(trials.refused), static_cast<long long>(trials.accepted));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "seed %llu, %s\n", seed, error.what());
    return 1;
  }
}
