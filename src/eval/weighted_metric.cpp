#include "weighted_metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "thinwire/base/error.hpp"

namespace thinwire::eval {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : kNoValue;
}

/// How often each class was the label, the prediction, and both.
struct ClassCounts {
  std::vector<double> labels, predictions, both;
  double samples = 0, hits = 0;
};

class ClassMetric : public WeightedMetric {
 public:
  explicit ClassMetric(std::span<const SampleScore> scores) : scores_(scores) {
    for (const SampleScore& score : scores) {
      TW_REQUIRE(score.label >= 0 && score.predicted >= 0, "label {} and prediction {} of classes",
                 score.label, score.predicted);
      classes_ = std::max({classes_, score.classes, score.label + 1, score.predicted + 1});
    }
  }

  double operator()(std::span<const int> counts) const override {
    const auto classes = static_cast<std::size_t>(classes_);
    ClassCounts counted{std::vector<double>(classes), std::vector<double>(classes),
                        std::vector<double>(classes)};
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const auto label = static_cast<std::size_t>(scores_[i].label);
      const auto predicted = static_cast<std::size_t>(scores_[i].predicted);
      counted.samples += counts[i];
      counted.labels[label] += counts[i];
      counted.predictions[predicted] += counts[i];
      if (label != predicted) continue;
      counted.hits += counts[i];
      counted.both[label] += counts[i];
    }
    return counted.samples > 0 ? of(counted) : kNoValue;
  }

 protected:
  virtual double of(const ClassCounts& counted) const = 0;

 private:
  std::span<const SampleScore> scores_;
  std::int32_t classes_ = 0;
};

class Accuracy : public ClassMetric {
  using ClassMetric::ClassMetric;
  double of(const ClassCounts& counted) const override { return counted.hits / counted.samples; }
};

/// 2 TP / (2 TP + FP + FN); 0 where the class was neither true nor predicted.
double f1_of_class(const ClassCounts& counted, std::size_t c) {
  const double sum = counted.labels[c] + counted.predictions[c];
  return sum > 0 ? 2 * counted.both[c] / sum : 0;
}

class F1 : public ClassMetric {
  using ClassMetric::ClassMetric;
  double of(const ClassCounts& counted) const override {
    if (counted.labels.size() <= 2) return counted.labels.size() < 2 ? 0 : f1_of_class(counted, 1);
    double sum = 0;
    double occurring = 0;
    for (std::size_t c = 0; c < counted.labels.size(); ++c) {
      if (counted.labels[c] + counted.predictions[c] == 0) continue;
      sum += f1_of_class(counted, c);
      ++occurring;
    }
    return sum / occurring;
  }
};

/// J. Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient, 2004.
class Matthews : public ClassMetric {
  using ClassMetric::ClassMetric;
  double of(const ClassCounts& counted) const override {
    double shared = 0;
    double labels = 0;
    double predictions = 0;
    for (std::size_t c = 0; c < counted.labels.size(); ++c) {
      shared += counted.labels[c] * counted.predictions[c];
      labels += counted.labels[c] * counted.labels[c];
      predictions += counted.predictions[c] * counted.predictions[c];
    }
    const double square = counted.samples * counted.samples;
    const double spread = (square - labels) * (square - predictions);
    if (spread <= 0) return 0;  // one class only: by convention no correlation
    return (counted.hits * counted.samples - shared) / std::sqrt(spread);
  }
};

double pearson(std::span<const double> x, std::span<const double> y, std::span<const int> counts) {
  double samples = 0;
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    samples += counts[i];
    mean_x += counts[i] * x[i];
    mean_y += counts[i] * y[i];
  }
  mean_x /= samples;
  mean_y /= samples;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x;
    const double dy = y[i] - mean_y;
    xy += counts[i] * dx * dy;
    xx += counts[i] * dx * dx;
    yy += counts[i] * dy * dy;
  }
  return std::clamp(ratio(xy, std::sqrt(xx * yy)), -1.0, 1.0);
}

/// Whether the drawn values are not all the same: rounding of a mean must not look like a spread.
bool is_spread(std::span<const double> values, std::span<const int> counts) {
  const double* first = nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (counts[i] == 0) continue;
    if (first == nullptr) first = &values[i];
    if (values[i] != *first) return true;
  }
  return false;
}

double correlation(std::span<const double> x, std::span<const double> y,
                   std::span<const int> counts) {
  return is_spread(x, counts) && is_spread(y, counts) ? pearson(x, y, counts) : kNoValue;
}

std::vector<double> values_of(std::span<const SampleScore> scores, double SampleScore::*member) {
  std::vector<double> values;
  for (const SampleScore& score : scores) values.push_back(score.*member);
  return values;
}

class Pearson : public WeightedMetric {
 public:
  explicit Pearson(std::span<const SampleScore> scores)
      : x_(values_of(scores, &SampleScore::prediction)),
        y_(values_of(scores, &SampleScore::target)) {}
  double operator()(std::span<const int> counts) const override {
    return correlation(x_, y_, counts);
  }

 private:
  std::vector<double> x_, y_;
};

/// Sample numbers in rising order of a value, cut where the value changes.
class Ordered {
 public:
  explicit Ordered(const std::vector<double>& values) : order_(values.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return values[i]; });
    for (std::size_t i = 1; i <= order_.size(); ++i)
      if (i == order_.size() || values[order_[i]] != values[order_[i - 1]]) ends_.push_back(i);
  }

  /// Calls visit(samples that share a value) in rising order of the value.
  template <class Visit>
  void each_tie(const Visit& visit) const {
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      visit(std::span(order_).subspan(begin, end - begin));
      begin = end;
    }
  }

  /// Average ranks, counted from 1, of a resample.
  std::vector<double> ranks(std::span<const int> counts) const {
    std::vector<double> ranks(order_.size());
    double before = 0;
    each_tie([&](std::span<const std::size_t> tied) {
      double here = 0;
      for (const std::size_t i : tied) here += counts[i];
      for (const std::size_t i : tied) ranks[i] = before + (here + 1) / 2;
      before += here;
    });
    return ranks;
  }

 private:
  std::vector<std::size_t> order_, ends_;
};

class Spearman : public WeightedMetric {
 public:
  explicit Spearman(std::span<const SampleScore> scores)
      : x_(values_of(scores, &SampleScore::prediction)),
        y_(values_of(scores, &SampleScore::target)) {}
  double operator()(std::span<const int> counts) const override {
    return correlation(x_.ranks(counts), y_.ranks(counts), counts);
  }

 private:
  Ordered x_, y_;
};

class LossRatio : public WeightedMetric {
 public:
  LossRatio(std::span<const SampleScore> scores, Index SampleScore::*unit)
      : scores_(scores), unit_(unit) {}

 protected:
  /// Nats per unit.
  double mean(std::span<const int> counts) const {
    double loss = 0;
    double units = 0;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      loss += counts[i] * scores_[i].loss;
      units += counts[i] * static_cast<double>(scores_[i].*unit_);
    }
    return ratio(loss, units);
  }

 private:
  std::span<const SampleScore> scores_;
  Index SampleScore::*unit_;
};

class Bits : public LossRatio {
 public:
  using LossRatio::LossRatio;
  double operator()(std::span<const int> counts) const override {
    return mean(counts) / std::numbers::ln2;
  }
};

class Perplexity : public LossRatio {
 public:
  explicit Perplexity(std::span<const SampleScore> scores)
      : LossRatio(scores, &SampleScore::predictions) {}
  double operator()(std::span<const int> counts) const override { return std::exp(mean(counts)); }
};

/// Metrics of a score that is compared with thresholds; label 1 should lie above.
class CutMetric : public WeightedMetric {
 public:
  explicit CutMetric(std::span<const SampleScore> scores)
      : scores_(scores), ordered_(values_of(scores, &SampleScore::prediction)) {
    for (const SampleScore& score : scores)
      TW_REQUIRE(score.label == 0 || score.label == 1, "label {} of a pair", score.label);
  }

 protected:
  struct Cut {
    double positive = 0, negative = 0;  ///< labels 1 and 0
  };

  Cut count(std::span<const std::size_t> samples, std::span<const int> counts) const {
    Cut cut;
    for (const std::size_t i : samples)
      (scores_[i].label == 1 ? cut.positive : cut.negative) += counts[i];
    return cut;
  }
  Cut count_all(std::span<const int> counts) const {
    Cut all;
    for (std::size_t i = 0; i < scores_.size(); ++i)
      (scores_[i].label == 1 ? all.positive : all.negative) += counts[i];
    return all;
  }
  const Ordered& ordered() const { return ordered_; }

 private:
  std::span<const SampleScore> scores_;
  Ordered ordered_;
};

/// The largest value over all thresholds: below every score, between two, above every one.
class BestThreshold : public CutMetric {
 public:
  using CutMetric::CutMetric;
  double operator()(std::span<const int> counts) const override {
    const Cut all = count_all(counts);
    if (all.positive + all.negative == 0) return kNoValue;
    Cut above = all;
    double best = of(above, all);
    ordered().each_tie([&](std::span<const std::size_t> tied) {
      const Cut here = count(tied, counts);
      above = {above.positive - here.positive, above.negative - here.negative};
      best = std::max(best, of(above, all));
    });
    return best;
  }

 protected:
  virtual double of(const Cut& above, const Cut& all) const = 0;
};

class BestAccuracy : public BestThreshold {
  using BestThreshold::BestThreshold;
  double of(const Cut& above, const Cut& all) const override {
    return (above.positive + all.negative - above.negative) / (all.positive + all.negative);
  }
};

class BestF1 : public BestThreshold {
  using BestThreshold::BestThreshold;
  double of(const Cut& above, const Cut& all) const override {
    const double sum = above.positive + above.negative + all.positive;
    return sum > 0 ? 2 * above.positive / sum : 0;
  }
};

/// Chance that a pair of label 1 lies above one of label 0, ties half.
class RocAuc : public CutMetric {
 public:
  using CutMetric::CutMetric;
  double operator()(std::span<const int> counts) const override {
    double won = 0;
    Cut below;
    ordered().each_tie([&](std::span<const std::size_t> tied) {
      const Cut here = count(tied, counts);
      won += here.positive * (below.negative + here.negative / 2);
      below = {below.positive + here.positive, below.negative + here.negative};
    });
    return ratio(won, below.positive * below.negative);
  }
};

}  // namespace

std::unique_ptr<WeightedMetric> make_weighted_metric(Metric metric,
                                                     std::span<const SampleScore> scores) {
  switch (metric) {
    case Metric::accuracy:
    case Metric::cloze:
      return std::make_unique<Accuracy>(scores);
    case Metric::f1:
      return std::make_unique<F1>(scores);
    case Metric::matthews:
      return std::make_unique<Matthews>(scores);
    case Metric::spearman:
      return std::make_unique<Spearman>(scores);
    case Metric::pearson:
      return std::make_unique<Pearson>(scores);
    case Metric::bits_per_byte:
      return std::make_unique<Bits>(scores, &SampleScore::bytes);
    case Metric::bits_per_character:
      return std::make_unique<Bits>(scores, &SampleScore::characters);
    case Metric::perplexity:
      return std::make_unique<Perplexity>(scores);
    case Metric::accuracy_best_threshold:
      return std::make_unique<BestAccuracy>(scores);
    case Metric::f1_best_threshold:
      return std::make_unique<BestF1>(scores);
    case Metric::roc_auc:
      return std::make_unique<RocAuc>(scores);
  }
  TW_REQUIRE(false, "unknown metric {}", static_cast<int>(metric));
}

}  // namespace thinwire::eval
