#include "train/batch_observers.hpp"

#include <cmath>

namespace thinwire::train {

BatchStatistics::BatchStatistics(const compress::CodebookUse& use,
                                 std::span<const CodebookState> states, const std::string& stream,
                                 std::uint64_t seed)
    : use_(use), states_(states), random_(stream, seed) {
  for (const CodebookState& state : states) {
    const bool is_coded = state.codewords.rows() > 0;
    statistics_.emplace_back(state.codewords.rows(), state.codewords.cols());
    candidates_.emplace_back(is_coded ? codewords_at_risk(state) : 0);
  }
}

void BatchStatistics::on_row(Index exchange, std::span<const float> row,
                             std::span<const std::int32_t> codes) {
  const std::size_t width = row.size() / codes.size();
  if (exchange == (use_.codes_first_exchange ? 0 : 1)) ++rows_;
  for (std::size_t group = 0; group < codes.size(); ++group) {
    const std::size_t number = codebook_number(use_, exchange, static_cast<Index>(group));
    const std::span<const float> part = row.subspan(group * width, width);
    statistics_[number].add(part, codes[group]);
    if (candidates_[number].is_open()) offer(number, part, codes[group]);
  }
}

/// The greatest of log(u) / weight over all rows is row i in proportion to weight i, and the m
/// greatest are m such draws without putting back.
void BatchStatistics::offer(std::size_t number, std::span<const float> row, Index code) {
  const double weight =
      distance(row, states_[number].codewords.view().row(code), similarity_of(use_));
  const float draw = random_.uniform(drawn_++);
  if (weight > 0 && draw > 0) candidates_[number].offer(std::log(double{draw}) / weight, row);
}

}  // namespace thinwire::train
