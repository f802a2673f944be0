#pragma once
#include <string>

namespace thinwire::ops {

/// OpenMP threads that operators called from this thread will use.
void set_threads(int threads);
int threads();

/// Whether the CPU has instructions for bf16 products that oneDNN uses, as far as its environment
/// variable ONEDNN_MAX_CPU_ISA lets it.
bool has_fast_bf16();

std::string onednn_version();  // "2.6.3"

}  // namespace thinwire::ops
