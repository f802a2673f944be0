// Files of --rate-trace.

#include <string>
#include <vector>

#include "fuzz_target.hpp"
#include "thinwire/fabric/rate_trace.hpp"

/// A trace that was taken lets every transfer end, and not before it begins.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinwire;
  fuzz::is_taken([&] {
    const fabric::RateTrace trace = fabric::parse_rate_trace("trace", fuzz::as_text(data, size));
    for (const double part : {0.0, 0.3, 1.0, 2.5})
      for (const double bits : {0.0, 1.0, 8e3, 8e9}) {
        const double start_s = part * trace.duration_s();
        fuzz::require(trace.end_s(start_s, bits) >= start_s);
      }
    fuzz::require(trace.mean_rate().bit_per_s() > 0);
    fuzz::require(trace.iteration_start_s(7) < trace.duration_s());
  });
  return 0;
}
