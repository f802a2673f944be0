#pragma once
#include <string>

namespace thinwire::ops {

/// OpenMP threads that operators called from this thread will use.
void set_threads(int threads);
int threads();

std::string onednn_version();  // "2.6.3"

}  // namespace thinwire::ops
