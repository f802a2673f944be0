#pragma once
#include <cstdint>
#include <vector>

#include "thinwire/compress/index_statistics.hpp"

namespace thinwire::compress {

/// The words of tables (index_table_layout.hpp) for what was counted. Chooses which families pay
/// and how much their evidence weighs by coding counted indices as if each had not been counted.
std::vector<std::uint16_t> build_index_tables(const IndexStatistics& statistics);

}  // namespace thinwire::compress
