#include "thinwire/harness/published_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "published_cells.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

constexpr std::string_view kSchema = "thinwire.published/1";

std::optional<double> printed_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Digits behind the point of a printed number; `otherwise` for a word or an empty cell.
int decimals_of(const std::string& text, int otherwise) {
  if (!printed_number(text)) return otherwise;
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1);
}

void set_difference(Cell& cell, const CellValue& value, int decimals) {
  const auto printed = printed_number(cell.published);
  const auto ours = printed_number(cell.ours);
  if (printed.has_value() != ours.has_value()) return;  // "about 400" beside 315
  cell.is_equal = cell.published == cell.ours;
  if (!printed) return;
  // The texts have the same digits, so equal figures are equal texts and differ by exactly 0.
  cell.difference = *cell.is_equal ? "0" : fmt::format("{:+.{}f}", *ours - *printed, decimals);
  if (*printed != 0) cell.relative_percent = 100 * std::abs(as_number(value) / *printed - 1);
}

struct TablePlan {
  const Json& table;
  const RecordIndex& index;
};

Cell fill_cell(const TablePlan& plan, const Json& row, const Json& column) {
  const std::string key = column.at("key");
  Cell cell{.published = row.at("cells").value(key, ""),
            .ours = "-",
            .difference = {},
            .is_equal = {},
            .relative_percent = {}};
  if (cell.published.empty() && !column.value("always", false)) return cell;
  CellContext context{.index = &plan.index,
                      .match = plan.table.at("match"),
                      .link = plan.table.value("link", Json(nullptr)),
                      .record = nullptr};
  context.match.update(row.at("match"));
  context.match.update(column.value("match", Json::object()));
  if (column.contains("link")) context.link = column.at("link");
  context.record = plan.index.find(context.match);
  if (context.record == nullptr) return cell;
  const auto value = cell_value(column.value("quantity", key), context);
  if (!value) return cell;
  const int decimals = decimals_of(cell.published, column.value("decimals", 2));
  cell.ours = as_text(*value, decimals);
  if (!cell.published.empty()) set_difference(cell, *value, decimals);
  return cell;
}

ComparedTable fill_table(const Json& table, const RecordIndex& index) {
  ComparedTable filled{.key = table.at("key"),
                       .title = table.at("title"),
                       .place = table.at("place"),
                       .columns = {},
                       .rows = {},
                       .notes = table.value("notes", std::vector<std::string>{})};
  for (const Json& column : table.at("columns")) {
    const std::string key = column.at("key");
    const std::string quantity = column.value("quantity", key);
    require_input(is_known_quantity(quantity), "table {}, column {}: unknown quantity {}",
                  filled.key, key, quantity);
    filled.columns.push_back({key, column.at("label"), column.value("unit", "")});
  }
  for (const Json& row : table.at("rows")) {
    ComparedRow& next = filled.rows.emplace_back();
    next.label = row.at("label");
    for (const Json& column : table.at("columns"))
      next.cells.push_back(fill_cell({table, index}, row, column));
  }
  return filled;
}

}  // namespace

std::vector<std::string> ComparedTable::summary() const {
  std::vector<std::string> lines;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    int compared = 0, equal = 0;
    double largest = 0;
    for (const ComparedRow& row : rows) {
      const Cell& cell = row.cells[c];
      if (!cell.is_equal) continue;
      ++compared;
      equal += *cell.is_equal ? 1 : 0;
      if (!*cell.is_equal) largest = std::max(largest, cell.relative_percent.value_or(0));
    }
    if (compared == 0) continue;
    std::string line =
        fmt::format("{}: {} of {} equal to the printed digit", columns[c].label, equal, compared);
    if (largest > 0) line += fmt::format(", the largest difference {:.3f} %", largest);
    lines.push_back(std::move(line));
  }
  return lines;
}

Comparison compare_published(const Json& published, std::span<const Json> records) {
  require_input(published.is_object() && published.value("schema", "") == kSchema,
                "published tables have the schema {}", kSchema);
  try {
    const RecordIndex index(records);
    Comparison comparison{.name = published.at("name"),
                          .source = published.at("source"),
                          .notes = published.value("notes", std::vector<std::string>{}),
                          .tables = {}};
    for (const Json& table : published.at("tables"))
      comparison.tables.push_back(fill_table(table, index));
    return comparison;
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("published tables or records are misshapen: {}", error.what()));
  }
}

}  // namespace thinwire::harness
