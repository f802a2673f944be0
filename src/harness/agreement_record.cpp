#include "thinwire/harness/agreement_record.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "thinwire/base/json.hpp"
#include "thinwire/eval/answer.hpp"
#include "thinwire/eval/exactness.hpp"
#include "thinwire/harness/answer_record.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/strategy_traits.hpp"

namespace thinwire::harness {
namespace {

/// The single device's rows that a strategy has, too: a terminal may collect the last alone.
MatrixView<const float> rows_like(const Capture& split, const Capture& single) {
  const Index rows = split.values.rows(), all = single.values.rows();
  TW_REQUIRE(rows <= all, "{} rows of outputs beside {}", rows, all);
  return single.values.view().rows(all - rows, rows);
}

/// A mean that nothing was added to is null.
class Mean {
 public:
  void add(std::optional<double> value) {
    if (!value) return;
    sum_ += *value;
    ++count_;
  }
  Json json() const { return count_ == 0 ? Json(nullptr) : finite_or_null(sum_ / count_); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

/// One a hidden state, embedding first: mean over the sequences of the mean over their real rows.
std::vector<Mean> hidden_cosines(const Point& point, std::span<const Capture> split,
                                 std::span<const Capture> single) {
  std::vector<Mean> cosines(single[0].hidden.size());
  for (std::size_t l = 0; l < cosines.size(); ++l)
    for (std::size_t s = 0; s < single.size(); ++s)
      cosines[l].add(eval::compare_hidden(split[s].hidden[l].view(), single[s].hidden[l].view(),
                                          point.sample.sequences[s])
                         .mean_cosine);
  return cosines;
}

/// How far a pair's cosine is from the single device's; nothing for what is no pair of embeddings.
std::optional<std::string> broken_pair(const Point& point, std::span<const Capture> split,
                                       std::span<const Capture> single) {
  if (point.config.head != model::HeadKind::mean_pooling || split.size() != 2) return std::nullopt;
  const double ours = pair_cosine(split), alone = pair_cosine(single);
  const eval::ExactBounds bounds = eval::exact_bounds(point.spec.dtype);
  if (std::abs(ours - alone) <= bounds.cosine) return std::nullopt;
  return fmt::format("the pair's cosine is {:.7f} beside {:.7f} (within {:.0e})", ours, alone,
                     bounds.cosine);
}

}  // namespace

bool is_exact(const RunSpec& spec, Index tokens) {
  if (spec.devices == 1) return true;
  if (!spec.sends_rows_exactly()) return false;
  if (traits_of(spec.strategy).is_exact) return true;
  if (spec.strategy != "prism") return false;
  const Index segments = segments_for(spec, tokens);
  const auto slices = partition(tokens, spec.devices, spec.partition, spec.partition_weights());
  return std::ranges::all_of(slices, [&](Slice slice) { return slice.size == segments; });
}

Json agreement_record(const Point& point, std::span<const Capture> split,
                      std::span<const Capture> single) {
  Mean top1, divergence, cosine;
  double difference = 0;
  Index rows = 0;
  bool expects_exact = true;
  std::vector<std::string> broken;
  for (std::size_t s = 0; s < split.size(); ++s) {
    const eval::OutputAgreement outputs = eval::compare_outputs(
        split[s].values.view(), rows_like(split[s], single[s]), point.config.head);
    rows += split[s].values.rows();
    top1.add(outputs.same_top1);
    divergence.add(outputs.kl_divergence);
    cosine.add(outputs.cosine);
    if (!(outputs.relative_difference <= difference) && !std::isnan(difference))
      difference = outputs.relative_difference;
    std::ranges::move(eval::broken_bounds(outputs, eval::exact_bounds(point.spec.dtype)),
                      std::back_inserter(broken));
    expects_exact = expects_exact && is_exact(point.spec, single[s].hidden[0].rows());
  }
  if (auto phrase = broken_pair(point, split, single)) broken.push_back(std::move(*phrase));

  Json hidden = Json::array();
  for (const Mean& mean : hidden_cosines(point, split, single)) hidden.push_back(mean.json());
  return {{"rows", rows},
          {"top1", top1.json()},
          {"kl_divergence", divergence.json()},
          {"output_cosine", cosine.json()},
          {"largest_relative_difference", finite_or_null(difference)},
          {"hidden_cosine", std::move(hidden)},
          {"exact", expects_exact ? Json(broken.empty()) : Json(nullptr)},
          {"broken", expects_exact ? Json(broken) : Json::array()}};
}

}  // namespace thinwire::harness
