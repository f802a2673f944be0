#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json_fwd.hpp"

namespace thinwire::harness {

/// A published figure beside ours, both as text with the same digits.
struct Cell {
  std::string published;         ///< "" where the paper prints nothing
  std::string ours;              ///< "-" where nothing of ours belongs here
  std::string difference;        ///< ours - published in the last printed digits, "" without both
  std::optional<bool> is_equal;  ///< to the printed digit
  std::optional<double> relative_percent;  ///< |ours, unrounded, - published| / published
};

struct Column {
  std::string key, label, unit;
};

struct ComparedRow {
  std::string label;
  std::vector<Cell> cells;  ///< one a column
};

/// One table of a paper, filled.
struct ComparedTable {
  std::string key, title;
  std::string place;  ///< the table's label in the paper
  std::vector<Column> columns;
  std::vector<ComparedRow> rows;
  std::vector<std::string> notes;

  /// "GFLOPs total: 8 of 10 equal to the printed digit, the largest difference 0.017 %", one line
  /// for every column that can be compared.
  std::vector<std::string> summary() const;
};

/// All tables of a paper.
struct Comparison {
  std::string name, source;
  std::vector<std::string> notes;
  std::vector<ComparedTable> tables;
};

/// Fills the tables of results/published/<paper>.json with what the records say. A cell's record is
/// the last finished one, measured before predicted, whose spec has the values that table, row and
/// column ask for.
/// Throws InputError when `published` is not of the form thinwire.published/1.
Comparison compare_published(const Json& published, std::span<const Json> records);

std::string to_markdown(const Comparison& comparison);
/// table,row,column,unit,published,ours,difference,equal: one line a cell.
std::string to_csv(const Comparison& comparison);
/// The same as a list of objects.
Json to_json(const Comparison& comparison);

}  // namespace thinwire::harness
