#include "thinwire/compress/index_tables.hpp"

#include <algorithm>
#include <cmath>

#include "index_table_builder.hpp"
#include "index_table_layout.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

template <class T>
Matrix<T> row_of(std::size_t size, std::pmr::memory_resource* memory) {
  return {1, static_cast<Index>(size), memory, Matrix<T>::Fill::none};
}

}  // namespace

IndexTables::IndexTables(const IndexStatistics& statistics)
    : IndexTables(build_index_tables(statistics), statistics.codewords(), statistics.contexts(),
                  {.memory = std::pmr::new_delete_resource()}) {}

IndexTables::IndexTables(std::span<const std::uint16_t> words, Index codewords, Index contexts,
                         model::WeightPlace place)
    : codewords_(codewords),
      contexts_(contexts),
      words_(row_of<std::uint16_t>(words.size(), place.memory)),
      sums_(row_of<std::uint32_t>(static_cast<std::size_t>(codewords) + 1, place.memory)) {
  if (place.packing == ops::Packing::attach) return;
  const TableLayout layout(words);
  TW_REQUIRE(static_cast<Index>(layout.codewords()) == codewords &&
                 static_cast<Index>(layout.contexts()) == contexts,
             "index tables of {} codewords after {}, for {} after {}", layout.codewords(),
             layout.contexts(), codewords, contexts);
  layout.check();
  std::ranges::copy(words, words_.view().elements().begin());
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < layout.codewords(); ++i) {
    sums_(0, static_cast<Index>(i)) = sum;
    sum += alone_frequency(layout.cost_alone(i));
  }
  sums_(0, codewords) = sum;
}

IndexCost index_cost(const IndexTables& tables, IndexCoding coding) {
  const auto fixed = static_cast<double>(index_bits(tables.codewords()));
  if (coding == IndexCoding::fixed) return {.expected_bits = fixed, .worst_bits = fixed};
  const TableLayout layout(tables.words());
  const double expected = layout.expected(coding == IndexCoding::cross_layer) / kExpectedUnits;
  return {.expected_bits = std::min(expected, fixed), .worst_bits = fixed};
}

}  // namespace thinwire::compress
