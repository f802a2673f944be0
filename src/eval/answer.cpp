#include "thinwire/eval/answer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "log_sum_exp.hpp"

namespace thinwire::eval {

std::vector<ClassProbability> likeliest(std::span<const float> logits, int count) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](int label) { return logits[static_cast<std::size_t>(label)]; });
  const double log_sum = log_sum_exp(logits);
  std::vector<ClassProbability> top;
  for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(count); ++i)
    top.push_back({order[i], std::exp(logits[static_cast<std::size_t>(order[i])] - log_sum)});
  return top;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  TW_REQUIRE(a.size() == b.size(), "cosine of {} and {} values", a.size(), b.size());
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

double next_token_loss(MatrixView<const float> logits, std::span<const std::int32_t> ids) {
  require_input(ids.size() >= 2, "a sequence of {} tokens predicts none (it needs two)",
                ids.size());
  double loss = 0;
  for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
    const auto row = logits.row(static_cast<Index>(t));
    loss += log_sum_exp(row) - double{row[static_cast<std::size_t>(ids[t + 1])]};
  }
  return loss / static_cast<double>(ids.size() - 1);
}

}  // namespace thinwire::eval
