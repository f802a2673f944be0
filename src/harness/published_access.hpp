#pragma once
#include <optional>

#include "published_cells.hpp"

namespace thinwire::harness {

// What the cells of every paper read of records.

/// Whether an object has every value of `match`; numbers compare by value: 2 equals 2.0.
bool has_values(const Json& object, const Json& match);

/// record.section.key, or null: a record of another version may lack it.
const Json* find_in(const Json& record, const char* section, const char* key);

/// The median of a time figure under `link` (null: whichever comes first), in seconds.
std::optional<double> median_s(const Json& record, const char* figure, const Json& link);

/// The record that differs from the context's in `changes`: null takes a key out of the match.
const Json* sibling(const CellContext& context, const Json& changes);

/// Cells of TRACE's tables and figures.
struct Quantity {
  std::string_view name;
  std::optional<CellValue> (*compute)(const CellContext&);
};
std::span<const Quantity> trace_quantities();

}  // namespace thinwire::harness
