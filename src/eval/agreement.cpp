#include "thinwire/eval/agreement.hpp"

#include <algorithm>
#include <cmath>

#include "log_sum_exp.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/eval/answer.hpp"

namespace thinwire::eval {
namespace {

/// The larger one; not-a-number when either is, which std::max would hide.
double larger(double a, double b) {
  return b > a || std::isnan(b) ? b : a;
}

/// max |a - b| / max |b|, put together row by row. Equal zeros do not differ.
class RelativeDifference {
 public:
  void add(std::span<const float> a, std::span<const float> b) {
    for (std::size_t i = 0; i < b.size(); ++i) {
      difference_ = larger(difference_, std::abs(double{a[i]} - double{b[i]}));
      largest_ = larger(largest_, std::abs(double{b[i]}));
    }
  }
  double largest() const { return largest_; }
  double value() const { return difference_ == 0 ? 0 : difference_ / largest_; }

 private:
  double difference_ = 0, largest_ = 0;
};

/// sum of p (ln p - ln q), p and q the softmax of `single` and `ours`.
double kl_divergence(std::span<const float> ours, std::span<const float> single) {
  const double log_p = log_sum_exp(single);
  const double log_q = log_sum_exp(ours);
  double divergence = 0;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const double ln_p = single[i] - log_p;
    const double p = std::exp(ln_p);
    if (p > 0) divergence += p * (ln_p - (ours[i] - log_q));  // 0 ln 0 = 0
  }
  return larger(0, divergence);  // rounding may leave a tiny negative sum
}

std::size_t top_class(std::span<const float> logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace

OutputAgreement compare_outputs(MatrixView<const float> ours, MatrixView<const float> single,
                                model::HeadKind head) {
  TW_REQUIRE(ours.rows() == single.rows() && ours.cols() == single.cols() && single.size() > 0,
             "outputs [{}, {}] beside [{}, {}]", ours.rows(), ours.cols(), single.rows(),
             single.cols());
  const bool has_classes = head != model::HeadKind::mean_pooling && single.cols() > 1;
  RelativeDifference difference;
  double same = 0, divergence = 0, margin = 0, cosines = 0;
  for (Index r = 0; r < single.rows(); ++r) {
    const auto a = ours.row(r), b = single.row(r);
    difference.add(a, b);
    cosines += cosine(a, b);
    if (!has_classes) continue;
    const std::size_t top = top_class(a), single_top = top_class(b);
    same += top == single_top ? 1 : 0;
    divergence += kl_divergence(a, b);
    margin = larger(margin, double{b[single_top]} - double{b[top]});
  }
  const auto rows = static_cast<double>(single.rows());
  OutputAgreement agreement{.cosine = cosines / rows, .relative_difference = difference.value()};
  if (!has_classes) return agreement;
  agreement.same_top1 = same / rows;
  agreement.kl_divergence = divergence / rows;
  agreement.lost_margin = margin == 0 ? 0 : margin / difference.largest();
  return agreement;
}

HiddenAgreement compare_hidden(MatrixView<const float> a, MatrixView<const float> b,
                               const model::ModelInput& input) {
  HiddenAgreement agreement{.least_cosine = 1};
  RelativeDifference difference;
  Index rows = 0;
  for (Index r = 0; r < b.rows(); ++r) {
    if (!input.is_real(r)) continue;
    const double row_cosine = cosine(a.row(r), b.row(r));
    agreement.mean_cosine += row_cosine;
    agreement.least_cosine = std::min(agreement.least_cosine, row_cosine);
    ++rows;
    difference.add(a.row(r), b.row(r));
  }
  agreement.mean_cosine /= static_cast<double>(rows);
  agreement.relative_difference = difference.value();
  return agreement;
}

}  // namespace thinwire::eval
