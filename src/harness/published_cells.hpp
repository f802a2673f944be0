#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "thinwire/base/json.hpp"
#include "thinwire/cost/printed.hpp"

namespace thinwire::harness {

/// Finished records, to be found by values of their specs.
class RecordIndex {
 public:
  explicit RecordIndex(std::span<const Json> records) : records_(records) {}

  /// The last one, measured before predicted, whose spec has every value of `match`; null if none.
  const Json* find(const Json& match) const;

 private:
  std::span<const Json> records_;
};

/// What a cell is computed from.
struct CellContext {
  const RecordIndex* index = nullptr;
  Json match;                    ///< of table, row and column together
  Json link;                     ///< the link setting that a latency is about, or null
  const Json* record = nullptr;  ///< the one that matches; never null
};

/// An exact fraction where there is one, so that ties round as printed; or a number; or a word.
using CellValue = std::variant<cost::Fraction, double, std::string>;

/// The quantity in the words of results/published: "gflops_total", "cr", ... Nothing where the
/// records do not tell.
std::optional<CellValue> cell_value(std::string_view quantity, const CellContext& context);
bool is_known_quantity(std::string_view quantity);

double as_number(const CellValue& value);  // NaN for a word
/// Rounded half up to `decimals`; words as they are.
std::string as_text(const CellValue& value, int decimals);

}  // namespace thinwire::harness
