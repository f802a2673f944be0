#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "thinwire/base/random.hpp"
#include "thinwire/train/calibration_run.hpp"
#include "thinwire/train/candidate_rows.hpp"
#include "thinwire/train/codebook_state.hpp"

namespace thinwire::train {

/// Keeps the rows that one exchange would send.
class ExchangeRows final : public RowObserver {
 public:
  explicit ExchangeRows(Index exchange) : exchange_(exchange) {}
  /// Rows one behind the other.
  const std::vector<float>& values() const { return values_; }

 private:
  void on_row(Index exchange, std::span<const float> row,
              std::span<const std::int32_t> /*codes*/) override {
    if (exchange == exchange_) values_.insert(values_.end(), row.begin(), row.end());
  }

  Index exchange_;
  std::vector<float> values_;
};

/// Counts and sums the rows of all exchanges by codeword, and keeps rows to re-seed from: drawn in
/// proportion to their distance from the codeword that codes them.
class BatchStatistics final : public RowObserver {
 public:
  /// states [exchange * groups + group], read while the pass runs.   stream: names the draws
  BatchStatistics(const compress::CodebookUse& use, std::span<const CodebookState> states,
                  const std::string& stream, std::uint64_t seed);

  CodeStatistics& statistics(std::size_t number) { return statistics_[number]; }
  CandidateRows& candidates(std::size_t number) { return candidates_[number]; }
  std::int64_t rows() const { return rows_; }

 private:
  void on_row(Index exchange, std::span<const float> row,
              std::span<const std::int32_t> codes) override;
  void offer(std::size_t number, std::span<const float> row, Index code);

  const compress::CodebookUse& use_;
  std::span<const CodebookState> states_;
  RandomStream random_;
  std::uint64_t drawn_ = 0;
  std::int64_t rows_ = 0;  // of the first exchange that is coded
  std::vector<CodeStatistics> statistics_;
  std::vector<CandidateRows> candidates_;
};

}  // namespace thinwire::train
