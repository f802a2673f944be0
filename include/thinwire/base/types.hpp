#pragma once
#include <cstdint>

namespace thinwire {

/// Rows, columns, tokens, devices' row counts: signed, so that differences are safe.
using Index = std::int64_t;

}  // namespace thinwire
