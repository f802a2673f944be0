#include <fmt/format.h>

#include <string>
#include <string_view>

#include "thinwire/base/json.hpp"
#include "thinwire/harness/published_table.hpp"

namespace thinwire::harness {
namespace {

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

/// "35.07 / 35.07", or "40.74 / **40.73** (-0.01)" where the printed digits differ.
std::string markdown_cell(const Cell& cell) {
  if (cell.published.empty() && cell.ours == "-") return "";
  const bool differs = cell.is_equal.has_value() && !*cell.is_equal;
  std::string text = fmt::format("{} / {}{}{}", or_dash(cell.published), differs ? "**" : "",
                                 cell.ours, differs ? "**" : "");
  if (differs && !cell.difference.empty()) text += fmt::format(" ({})", cell.difference);
  return text;
}

std::string heading(const Column& column) {
  return column.unit.empty() ? column.label : fmt::format("{} [{}]", column.label, column.unit);
}

std::string markdown_table(const ComparedTable& table) {
  std::string text =
      fmt::format("## {}\n\n`{}`; published / ours\n\n| |", table.title, table.place);
  for (const Column& column : table.columns) text += fmt::format(" {} |", heading(column));
  text += "\n| --- |";
  for (std::size_t c = 0; c < table.columns.size(); ++c) text += " --- |";
  text += "\n";
  for (const ComparedRow& row : table.rows) {
    text += fmt::format("| {} |", row.label);
    for (const Cell& cell : row.cells) text += fmt::format(" {} |", markdown_cell(cell));
    text += "\n";
  }
  text += "\n";
  for (const std::string& line : table.summary()) text += fmt::format("- {}\n", line);
  for (const std::string& note : table.notes) text += fmt::format("- Note: {}\n", note);
  return text;
}

/// Quoted where a comma, a quote or a line break would end the field.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// Calls visit(table, row, column, cell) for every cell that says something.
template <class Visit>
void for_each_cell(const Comparison& comparison, Visit visit) {
  for (const ComparedTable& table : comparison.tables)
    for (const ComparedRow& row : table.rows)
      for (std::size_t c = 0; c < row.cells.size(); ++c)
        if (!row.cells[c].published.empty() || row.cells[c].ours != "-")
          visit(table, row, table.columns[c], row.cells[c]);
}

}  // namespace

std::string to_markdown(const Comparison& comparison) {
  std::string text = fmt::format(
      "# {}\n\nEvery published cell beside ours. Bold: the printed digits differ, the difference "
      "in brackets. A dash: nothing printed, or nothing in the records.\n\n",
      comparison.source);
  for (const ComparedTable& table : comparison.tables) text += markdown_table(table) + "\n";
  text += "## Notes\n\n";
  for (const std::string& note : comparison.notes) text += fmt::format("- {}\n", note);
  return text;
}

std::string to_csv(const Comparison& comparison) {
  std::string text = "table,row,column,unit,published,ours,difference,equal\n";
  for_each_cell(comparison, [&](const ComparedTable& table, const ComparedRow& row,
                                const Column& column, const Cell& cell) {
    const std::string_view equal = !cell.is_equal ? "" : *cell.is_equal ? "yes" : "no";
    for (const std::string_view field :
         {std::string_view(table.key), std::string_view(row.label), std::string_view(column.key),
          std::string_view(column.unit), std::string_view(cell.published),
          std::string_view(cell.ours), std::string_view(cell.difference)})
      text += csv_field(field) + ",";
    text += fmt::format("{}\n", equal);
  });
  return text;
}

Json to_json(const Comparison& comparison) {
  Json list = Json::array();
  const auto or_null = [](const std::string& text) {
    return text.empty() || text == "-" ? Json(nullptr) : Json(text);
  };
  for_each_cell(comparison, [&](const ComparedTable& table, const ComparedRow& row,
                                const Column& column, const Cell& cell) {
    list.push_back({{"table", table.key},
                    {"row", row.label},
                    {"column", column.key},
                    {"unit", or_null(column.unit)},
                    {"published", or_null(cell.published)},
                    {"ours", or_null(cell.ours)},
                    {"difference", or_null(cell.difference)},
                    {"equal", cell.is_equal ? Json(*cell.is_equal) : Json(nullptr)}});
  });
  return list;
}

}  // namespace thinwire::harness
