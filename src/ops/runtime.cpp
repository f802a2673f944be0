#include "thinwire/ops/runtime.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <dnnl.hpp>

#include "thinwire/base/error.hpp"

namespace thinwire::ops {

void set_threads(int threads) {
  TW_REQUIRE(threads >= 1, "{} threads", threads);
  omp_set_num_threads(threads);
}

int threads() {
  return omp_get_max_threads();
}

bool has_fast_bf16() {
  // A newer CPU's bits include those of the older ones that it can replace.
  constexpr auto kBf16 = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_bf16);
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & kBf16) == kBf16;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();  // of the library that is loaded
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace thinwire::ops
