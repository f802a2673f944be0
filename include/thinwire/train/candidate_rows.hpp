#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "thinwire/base/types.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::train {

/// Rows that may replace unused codewords: of all rows offered, those with the greatest keys.
/// Equal keys go to the row offered first, so that the choice depends on the order of offers alone.
class CandidateRows {
 public:
  struct Row {
    double key = 0;
    std::vector<float> values;
  };

  /// Keeps at most `capacity` rows.
  explicit CandidateRows(Index capacity = 0) : capacity_(static_cast<std::size_t>(capacity)) {}

  bool is_open() const { return capacity_ > 0; }
  void offer(double key, std::span<const float> values);
  /// Adds another device's rows behind these.
  void merge(const CandidateRows& other);
  /// Those of all ranks, the same on each. Collective.
  void reduce(fabric::Transport& ranks);

  /// Greatest key first, no two rows alike.
  std::vector<Row> best() const;

 private:
  void keep_best();

  std::size_t capacity_;
  std::vector<Row> rows_;  // in the order of offers, up to twice the capacity
};

}  // namespace thinwire::train
