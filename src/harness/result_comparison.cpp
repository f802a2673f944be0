#include "thinwire/harness/result_comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "thinwire/base/error.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/statistics.hpp"

namespace thinwire::harness {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr std::array<std::string_view, 3> kMetrics = {"latency", "compute", "wait"};

/// The records of one point in one file.
using Group = std::vector<const Json*>;

/// What groups records: the spec but for its repetition and what changes no figure, and what the
/// spec only names.
std::string key_of(const Json& record) {
  Json spec = record.at("spec");
  for (const char* name : {"repeat", "timeout", "agreement"}) spec.erase(name);
  const Json codebook = record.value("codebook", Json());
  return fmt::format("{} {} {}", record.at("source").dump(), spec.dump(),
                     codebook.is_object() ? codebook.value("fingerprint", Json()).dump() : "");
}

/// Records of one id share a key even where one was written before an option came.
class Keys {
 public:
  const std::string& of(const Json& record) {
    return by_id_.try_emplace(record.at("id").get<std::string>(), key_of(record)).first->second;
  }

 private:
  std::map<std::string, std::string> by_id_;
};

struct Groups {
  std::vector<std::string> order;
  std::map<std::string, Group> by_key;
};

Groups group(const std::vector<Json>& records, Keys& keys) {
  Groups groups;
  for (const Json& record : records) {
    if (record.value("status", "") != "ok") continue;
    const std::string& key = keys.of(record);
    if (!groups.by_key.contains(key)) groups.order.push_back(key);
    groups.by_key[key].push_back(&record);
  }
  return groups;
}

/// Of one link setting, over all records of a point.
std::vector<double> pooled_samples(const Group& records, std::size_t link, Metric metric) {
  const std::string name = fmt::format("{}_s", to_string(metric));
  std::vector<double> samples;
  for (const Json* record : records)
    for (const Json& sample : record->at("time").at("links").at(link).at(name).at("samples"))
      if (sample.is_number()) samples.push_back(sample.get<double>());
  return samples;
}

double median(std::vector<double> samples) {
  std::ranges::sort(samples);
  return percentile(samples, 50);
}

/// Logarithms of kResamples ratios of resampled medians; empty where there is nothing to resample.
std::vector<double> resampled(const std::vector<double>& a, const std::vector<double>& b,
                              const RandomStream& random) {
  if (a.size() < 2 || b.size() < 2) return {};
  std::uint64_t draw = 0;
  const auto resampled_median = [&](const std::vector<double>& samples) {
    std::vector<double> picked(samples.size());
    for (double& value : picked) value = samples[random.bits(draw++) % samples.size()];
    return median(std::move(picked));
  };
  std::vector<double> logs(kResamples);
  for (double& log : logs) log = std::log(resampled_median(b) / resampled_median(a));
  return logs;
}

Interval interval_of(std::vector<double> logs) {
  std::ranges::sort(logs);
  return {std::exp(percentile(logs, 2.5)), std::exp(percentile(logs, 97.5))};
}

/// The geometric mean over all ratios, and its interval from the same resamples.
class GeometricMean {
 public:
  void add(const LinkRatio& link, const std::vector<double>& logs) {
    if (!link.ratio || !(*link.ratio > 0)) return;
    ++count_;
    log_sum_ += std::log(*link.ratio);
    if (logs.empty()) has_interval_ = false;
    if (!has_interval_) return;
    sums_.resize(kResamples);
    std::ranges::transform(sums_, logs, sums_.begin(), std::plus{});
  }
  void fill(ResultComparison& comparison) {
    if (count_ == 0) return;
    comparison.geometric_mean = std::exp(log_sum_ / count_);
    if (!has_interval_) return;
    for (double& sum : sums_) sum /= count_;
    comparison.interval = interval_of(std::move(sums_));
  }

 private:
  double log_sum_ = 0;
  int count_ = 0;
  bool has_interval_ = true;
  std::vector<double> sums_;
};

Json counts_of(const Json& record) {
  Json counts = {{"operations", record.at("operations")}, {"traffic", record.at("traffic")}};
  counts["traffic"].erase("mpi_calls");  // an implementation's matter, and not predicted
  for (const Json& link : record.at("time").at("links"))
    counts["link_bits"].push_back(link.at("link_bits"));
  return counts.flatten();
}

std::vector<CountDifference> differences(const Json& a, const Json& b) {
  const Json ours = counts_of(a), theirs = counts_of(b);
  std::set<std::string> names;
  for (const Json* counts : {&ours, &theirs})
    for (const auto& item : counts->items()) names.insert(item.key());
  std::vector<CountDifference> found;
  for (const std::string& name : names) {
    const Json of_a = ours.value(name, Json()), of_b = theirs.value(name, Json());
    if (of_a != of_b) found.push_back({name.substr(1), of_a, of_b});
  }
  return found;
}

std::size_t links_of(const Group& records) {
  std::size_t links = SIZE_MAX;
  for (const Json* record : records) links = std::min(links, record->at("time").at("links").size());
  return links;
}

ResultPair compare_pair(const Group& a, const Group& b, Metric metric, const RandomStream& random,
                        GeometricMean& mean) {
  ResultPair pair{.spec = a.front()->at("spec"),
                  .links = {},
                  .differences = differences(*a.front(), *b.front())};
  pair.spec.erase("repeat");
  for (std::size_t link = 0; link < std::min(links_of(a), links_of(b)); ++link) {
    const std::vector<double> of_a = pooled_samples(a, link, metric);
    const std::vector<double> of_b = pooled_samples(b, link, metric);
    if (of_a.empty() || of_b.empty()) continue;
    LinkRatio& ratio = pair.links.emplace_back();
    ratio.link = a.front()->at("time").at("links").at(link).at("link");
    ratio.p50_a_s = median(of_a);
    ratio.p50_b_s = median(of_b);
    ratio.samples_a = std::ssize(of_a);
    ratio.samples_b = std::ssize(of_b);
    if (ratio.p50_a_s == 0) continue;
    ratio.ratio = ratio.p50_b_s / ratio.p50_a_s;
    std::vector<double> logs = resampled(of_a, of_b, random);
    // A median of 0 among the resamples has no finite ratio.
    if (!std::ranges::all_of(logs, [](double log) { return std::isfinite(log); })) logs.clear();
    if (!logs.empty()) ratio.interval = interval_of(logs);
    mean.add(ratio, logs);
  }
  return pair;
}

Json or_null(const std::optional<double>& value) {
  return value ? finite_or_null(*value) : Json(nullptr);
}

Json or_null(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json(nullptr);
}

Json to_json(const ResultPair& pair) {
  Json links = Json::array(), differences = Json::array();
  for (const LinkRatio& link : pair.links)
    links.push_back({{"link", link.link},
                     {"p50_a_s", link.p50_a_s},
                     {"p50_b_s", link.p50_b_s},
                     {"samples_a", link.samples_a},
                     {"samples_b", link.samples_b},
                     {"ratio", or_null(link.ratio)},
                     {"ratio_95", or_null(link.interval)}});
  for (const CountDifference& difference : pair.differences)
    differences.push_back({{"name", difference.name}, {"a", difference.a}, {"b", difference.b}});
  return {{"spec", pair.spec},
          {"links", std::move(links)},
          {"count_differences", std::move(differences)}};
}

}  // namespace

Metric metric_from(std::string_view name) {
  return static_cast<Metric>(name_index("--metric", name, kMetrics));
}

std::string_view to_string(Metric metric) {
  return kMetrics.at(static_cast<std::size_t>(metric));
}

ResultComparison compare_results(const std::vector<Json>& a, const std::vector<Json>& b,
                                 Metric metric, std::uint64_t seed) {
  Keys keys;
  const Groups of_a = group(a, keys), of_b = group(b, keys);
  ResultComparison comparison{.metric = metric};
  GeometricMean mean;
  for (const std::string& key : of_a.order) {
    const auto partner = of_b.by_key.find(key);
    if (partner == of_b.by_key.end()) {
      ++comparison.only_in_a;
      continue;
    }
    const RandomStream random(key, seed);  // a pair's interval does not depend on the others
    ResultPair pair = compare_pair(of_a.by_key.at(key), partner->second, metric, random, mean);
    if (pair.links.empty()) ++comparison.without_times;
    comparison.pairs.push_back(std::move(pair));
  }
  comparison.only_in_b = static_cast<int>(of_b.order.size() - comparison.pairs.size());
  mean.fill(comparison);
  return comparison;
}

Json to_json(const ResultComparison& comparison) {
  Json pairs = Json::array();
  for (const ResultPair& pair : comparison.pairs) pairs.push_back(to_json(pair));
  return {{"schema", "thinwire.comparison/1"},
          {"metric", to_string(comparison.metric)},
          {"pairs", std::move(pairs)},
          {"only_in_a", comparison.only_in_a},
          {"only_in_b", comparison.only_in_b},
          {"without_times", comparison.without_times},
          {"geometric_mean", or_null(comparison.geometric_mean)},
          {"geometric_mean_95", or_null(comparison.interval)}};
}

}  // namespace thinwire::harness
