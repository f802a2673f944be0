#pragma once
#include <string>

namespace thinwire {

/// What compiled the file that asks, such as "GCC 12.2.0".
inline std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace thinwire
