#include "thinwire/harness/eval_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "eval_agreement.hpp"
#include "eval_gather.hpp"
#include "eval_record.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/eval_point.hpp"
#include "thinwire/harness/eval_replica.hpp"

namespace thinwire::harness {
namespace {

/// What all ranks together keep of the single device's answers, as if they were on one node.
constexpr std::int64_t kMostBytesKept = std::int64_t{256} << 20;

/// How many ranks share the samples. Those of a timed evaluation are one stream, so that one rank
/// has them all: any number of ranks gives the same answer.
int sharing_ranks(const RunSpec& spec, int ranks) {
  return spec.has_timed_evaluation() ? 1 : ranks;
}

/// Numbers of the samples that a rank evaluates.
std::vector<Index> share_of(const SampleRange& range, int rank, int ranks) {
  std::vector<Index> samples;
  if (rank >= ranks) return samples;
  for (Index sample = range.first + rank; sample <= range.last; sample += ranks)
    samples.push_back(sample);
  return samples;
}

std::vector<Index> lengths_of(const DataSet& data, std::span<const Index> samples) {
  std::set<Index> lengths;
  for (const Index sample : samples)
    lengths.insert(data.tokens_of(sample).begin(), data.tokens_of(sample).end());
  return {lengths.begin(), lengths.end()};
}

void add(std::vector<DeviceCounts>& sums, std::span<const DeviceCounts> counts) {
  for (std::size_t p = 0; p < sums.size(); ++p) sums[p] += counts[p];
}

/// One rank's part of a point: its samples, and what it finds out about them, in order.
class Share {
 public:
  Share(const Point& point, const Shared& shared, std::vector<Index> samples, SingleDevice& single)
      : point_(point), shared_(shared), samples_(std::move(samples)), single_(single) {
    counts.resize(static_cast<std::size_t>(point.spec.devices));
    longest.resize(counts.size());
  }

  void run(std::int64_t most_bytes_kept, fabric::Watchdog& watchdog,
           const std::function<void(double)>& on_progress) {
    const std::vector<Index> lengths = lengths_of(*point_.data, samples_);
    if (point_.spec.wants_agreement())
      single_.begin(shared_.model, point_, lengths, most_bytes_kept, watchdog);
    Index done = 0;
    const auto on_sample = [&](const EvaluatedSample& evaluated) {
      take(evaluated);
      on_progress(static_cast<double>(++done) / static_cast<double>(samples_.size()));
    };
    const auto on_counts = [&](std::span<const DeviceCounts> more, bool is_longest) {
      add(counts, more);
      if (is_longest) add(longest, more);
    };
    const auto on_times = [&](std::span<const std::vector<fabric::LinkTimes>> devices) {
      if (!point_.spec.has_timed_evaluation()) return;
      times.resize(point_.spec.links().size());
      for (std::size_t link = 0; link < times.size(); ++link) {
        std::vector<fabric::LinkTimes>& members = times[link].emplace_back();
        for (const std::vector<fabric::LinkTimes>& device : devices)
          members.push_back(device.empty() ? fabric::LinkTimes{} : device[link]);
      }
    };
    // Lengths that vary would give every batch a row count of its own, for which all matrix
    // products would have to be prepared.
    const bool is_batched = lengths.size() == 1 && !point_.spec.has_timed_evaluation();
    const int batch = is_batched ? batch_for(point_.config, lengths.front()) : 1;
    run_replica(shared_, point_.spec, make_formations(point_.spec, lengths),
                {.samples = samples_,
                 .batch = batch,
                 .load = [&](Index sample) { return point_.data->file->load(sample); },
                 .wants_hidden = [&](Index sample) { return wants_hidden(sample); },
                 .wants_bits = !point_.coding_bounds.empty(),
                 .is_alone = [&](Index sample) { return sample == longest_; },
                 .on_sample = on_sample,
                 .on_counts = on_counts,
                 .on_times = on_times},
                watchdog);
  }

  std::vector<eval::SampleScore> scores, single_scores;
  std::vector<SampleAgreement> agreements;
  std::vector<double> hidden;         ///< hidden_width() a sample that wants them
  std::vector<double> frame_bits;     ///< of codings other than fixed: layers values a sample
  std::vector<DeviceCounts> counts;   ///< [P] over its samples
  std::vector<DeviceCounts> longest;  ///< [P] of the longest sample; zero where it is not ours
  Times times;                        ///< of timed evaluations, a sample an iteration

 private:
  bool wants_hidden(Index sample) const {
    return point_.spec.wants_agreement() && sample - point_.data->samples.first < kHiddenSamples;
  }

  void take(const EvaluatedSample& evaluated) {
    if (!point_.coding_bounds.empty()) take_bits(evaluated.outputs);
    const bool is_scored = !point_.data->metrics.empty();
    if (is_scored)
      scores.push_back(
          eval::score_sample(evaluated.sample, point_.config, views_of(evaluated.outputs)));
    if (!point_.spec.wants_agreement()) return;
    const bool looks_inside = wants_hidden(evaluated.number);
    const SingleAnswer& single = single_.answer(evaluated.number, evaluated.sample, looks_inside);
    if (is_scored) single_scores.push_back(*single.score);
    agreements.push_back(compare_sample(evaluated.outputs, single.outputs, point_.config.head));
    if (!looks_inside) return;
    const std::vector<double> sums =
        hidden_cosines(evaluated.sample, evaluated.outputs, single.outputs);
    hidden.insert(hidden.end(), sums.begin(), sums.end());
  }

  /// Raw exchanges count as none.
  void take_bits(std::span<const SequenceOutputs> sequences) {
    const compress::CodebookUse use = *codebook_use(point_.spec);
    for (Index exchange = 0; exchange < point_.config.layers; ++exchange) {
      std::int64_t bits = 0;
      for (const SequenceOutputs& sequence : sequences)
        if (use.codes(exchange))
          bits += sequence.published_bits[static_cast<std::size_t>(exchange)];
      frame_bits.push_back(static_cast<double>(bits));
    }
  }

  const Point& point_;
  const Shared& shared_;
  std::vector<Index> samples_;
  Index longest_ = point_.data->longest();
  SingleDevice& single_;
};

/// Sums over ranks, [P].
std::vector<DeviceCounts> sum_over(fabric::Transport& ranks, std::span<const DeviceCounts> mine) {
  static_assert(std::is_trivially_copyable_v<DeviceCounts>);
  std::vector<DeviceCounts> sums(mine.size());
  for (const std::vector<std::byte>& bytes : fabric::gather_all(ranks, std::as_bytes(mine))) {
    std::vector<DeviceCounts> theirs(mine.size());
    TW_REQUIRE(bytes.size() == mine.size_bytes(), "{} bytes of counts", bytes.size());
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    add(sums, theirs);
  }
  return sums;
}

/// By formula, over all sequences of all samples, [P]. Frames whose sizes depend on the data count
/// with the longest that they can be.
std::vector<DeviceCounts> predicted_counts(const Point& point, const RunSpec& whole) {
  const std::vector<Formation> formations = make_formations(whole, point.lengths);
  std::map<Index, std::vector<DeviceCounts>> of_length;
  for (const Index tokens : point.lengths) {
    RunSpec spec = formation_of(formations, tokens).spec;
    spec.expected_index_bits.clear();
    const cost::Prediction one = cost::predict(to_workload(spec, point.config, tokens));
    std::vector<DeviceCounts>& counts = of_length[tokens];
    counts.resize(static_cast<std::size_t>(whole.devices));
    for (std::size_t p = 0; p < one.device_operations.size(); ++p)
      counts[p] = {one.device_operations[p], one.payload_bits[p], one.header_bits[p],
                   one.padding_bits[p],      one.wire_bytes[p],   {}};
  }
  std::vector<DeviceCounts> sums(static_cast<std::size_t>(point.spec.devices));
  for (const std::vector<Index>& sample : point.data->tokens)
    for (const Index tokens : sample) add(sums, of_length.at(tokens));
  return sums;
}

EvaluationFindings gather(fabric::Transport& ranks, const Point& point, const Share& mine) {
  const Index samples = point.data->samples.count();
  const int sharing = sharing_ranks(point.spec, ranks.size());
  const auto in_order = [&]<class T>(const std::vector<T>& own, bool is_there) {
    return gather_in_order(ranks, std::span<const T>(own), sharing, is_there ? samples : 0);
  };
  const bool is_scored = !point.data->metrics.empty(), is_compared = point.spec.wants_agreement();
  EvaluationFindings all;
  all.scores = in_order(mine.scores, is_scored);
  all.single_scores = in_order(mine.single_scores, is_scored && is_compared);
  all.agreements = in_order(mine.agreements, is_compared);
  all.hidden = gather_in_order(ranks, std::span<const double>(mine.hidden), sharing,
                               is_compared ? std::min(samples, kHiddenSamples) : 0,
                               hidden_width(point.config));
  all.frame_bits = gather_in_order(ranks, std::span<const double>(mine.frame_bits), sharing,
                                   point.coding_bounds.empty() ? 0 : samples, point.config.layers);
  all.counts = sum_over(ranks, mine.counts);
  all.longest = sum_over(ranks, mine.longest);
  return all;
}

/// Of frames whose sizes depend on the data.
bool is_within_worst(const DeviceCounts& counted, const DeviceCounts& worst) {
  return counted.operations == worst.operations && counted.header_bits == worst.header_bits &&
         counted.wire_bytes <= worst.wire_bytes;
}

/// Whether counts are as predicted: equal, within the longest frames, or, where a controller
/// chooses, as many headers and bits between those of the coarsest and of the finest level. Coded
/// indices may take nothing.
bool are_as_predicted(const Point& point, std::span<const DeviceCounts> counts) {
  const std::vector<DeviceCounts> most = predicted_counts(point, point.spec);
  const bool is_coded = !point.coding_bounds.empty();
  if (point.spec.level_control == strategy::LevelControl::fixed)
    return is_coded ? std::ranges::equal(counts, most, is_within_worst)
                    : std::ranges::equal(counts, most);
  std::vector<DeviceCounts> least(most.size());
  if (!is_coded)
    least = predicted_counts(point, at_coarsest_level(point.spec, point.codebook->levels));
  for (std::size_t p = 0; p < counts.size(); ++p)
    if (counts[p].payload_bits < least[p].payload_bits ||
        counts[p].payload_bits > most[p].payload_bits ||
        counts[p].header_bits != most[p].header_bits)
      return false;
  return true;
}

/// Of the longest sample, and whether all samples' sums are as predicted.
void fill_counts(Result& result, const Point& point, const EvaluationFindings& all) {
  result.data_fingerprint = point.data->fingerprint;
  result.tokens = point.data->tokens_of(point.data->longest());
  for (const DeviceCounts& device : all.longest) {
    result.operations.push_back(device.operations);
    result.traffic.push_back({.payload_bits = device.payload_bits,
                              .header_bits = device.header_bits,
                              .padding_bits = device.padding_bits,
                              .wire_bytes = device.wire_bytes});
  }
  std::vector<DeviceCounts> counted = all.counts;
  for (DeviceCounts& device : counted) {
    if (point.spec.links().front().loss.drops())
      result.losses = result.losses.value_or(fabric::LossCounts{}) += device.losses;
    device.losses = {};  // chance, which no formula knows
    result.frames += device.frames;
  }
  result.counted_equals_predicted = are_as_predicted(point, counted);
}

}  // namespace

Point Evaluation::make(RunSpec spec, FingerprintCache& fingerprints) {
  return make_eval_point(std::move(spec), fingerprints, data_);
}

std::optional<Result> Evaluation::run(Session& session, const Point& point,
                                      const std::function<void(double)>& on_progress) {
  const auto start = std::chrono::steady_clock::now();
  const Shared shared = session.shared_for(point);
  fabric::Transport& ranks = session.everyone();
  Share mine(point, shared,
             share_of(point.data->samples, ranks.rank(), sharing_ranks(point.spec, ranks.size())),
             single_);
  fabric::Watchdog watchdog(
      point.spec.timeout, [&](const std::string& what) { session.end_stuck(what); },
      session.board());
  mine.run(kMostBytesKept / ranks.size(), watchdog, on_progress);
  const EvaluationFindings all = gather(ranks, point, mine);
  if (!session.is_root()) return std::nullopt;

  Result result{
      .spec = point.spec, .predictions = point.predictions, .coding_bounds = point.coding_bounds};
  session.describe(result, point, shared);
  result.environment["ranks"] = ranks.size();
  fill_counts(result, point, all);
  result.times = mine.times;
  result.accuracy = accuracy_section(point, all);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  result.accuracy["wall_s"] = taken.count();
  if (!scores_.empty()) append_scores(scores_, point, result, all);
  return result;
}

}  // namespace thinwire::harness
