#pragma once
#include <cstdint>

namespace thinwire::test {

/// Calls of operator new by this thread since its start, those of oneDNN itself left out (it makes
/// a map of the arguments of every execution).
std::int64_t allocations();

}  // namespace thinwire::test
