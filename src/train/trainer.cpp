#include "thinwire/train/trainer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "thinwire/base/random.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/train/principal_axes.hpp"
#include "train/batch_observers.hpp"
#include "train/state_source.hpp"

namespace thinwire::train {
namespace {

// Below this, k-means would mostly give rows their own codewords (METHODS 3.4).
constexpr Index kRowsPerCodeword = 4;

/// Sample numbers in the order of one epoch: data files may be sorted by class.
std::vector<Index> shuffled(Index samples, int epoch, std::uint64_t seed) {
  const RandomStream random(fmt::format("train.epoch{}", epoch), seed);
  std::vector<Index> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.bits(i) % i]);
  return order;
}

Index real_rows(std::span<const model::ModelInput> inputs, const model::ModelConfig& config) {
  Index rows = 0;
  for (const model::ModelInput& input : inputs)
    for (Index token = 0; token < input.tokens(config); ++token) rows += input.is_real(token);
  return rows;
}

void append_chunks(std::span<const Index> order, Index size,
                   std::vector<std::vector<Index>>& batches) {
  const auto step = static_cast<std::size_t>(size);
  for (std::size_t begin = 0; begin < order.size(); begin += step) {
    const auto part = order.subspan(begin, std::min(step, order.size() - begin));
    batches.emplace_back(part.begin(), part.end());
  }
}

/// The devices' rows one below the other.
Matrix<float> stacked_rows(std::span<const ExchangeRows> devices, Index width) {
  std::size_t size = 0;
  for (const ExchangeRows& device : devices) size += device.values().size();
  Matrix<float> rows(static_cast<Index>(size) / width, width);
  auto out = rows.view().elements().begin();
  for (const ExchangeRows& device : devices) out = std::ranges::copy(device.values(), out).out;
  return rows;
}

void check_codewords(const TrainingOptions& options, const model::ModelConfig& config) {
  constexpr Index kMostCodewords = 65536;
  require_input(options.codewords >= 2 && options.codewords <= kMostCodewords,
                "--codewords={}: from 2 to {} (an index has 1 to 16 bits)", options.codewords,
                kMostCodewords);
  require_input(options.groups >= 1 && config.hidden % options.groups == 0,
                "--groups={}: rows of {} columns divide into groups of equal width (write a "
                "divisor of {})",
                options.groups, config.hidden, config.hidden);
}

}  // namespace

void check(const TrainingOptions& options, const model::ModelConfig& config) {
  check_codewords(options, config);
  codebook_use(options.setting, options.groups);
  require_input(options.batch >= 1, "--batch={}: a batch has at least one sample", options.batch);
  require_input(options.epochs >= 1, "--epochs={}: at least one", options.epochs);
  require_input(options.setting.threads >= 1,
                "--threads={}: a device computes with at least one thread",
                options.setting.threads);
  require_input(options.subspace_width >= 1, "--subspace-width={}: at least one axis",
                options.subspace_width);
}

Trainer::Trainer(const model::Model& model, TrainingOptions options, const SampleSource& source,
                 fabric::Transport& ranks)
    : model_(model), options_(std::move(options)), source_(source), ranks_(ranks) {
  check(options_, model.config());
  use_ = codebook_use(options_.setting, options_.groups);
  for (Index exchange = 0; exchange < model.config().layers; ++exchange)
    if (use_.codes(exchange)) exchanges_.push_back(exchange);
  states_.resize(static_cast<std::size_t>(model.config().layers * use_.groups));
  plan(source);
}

/// The first batch is long enough for k-means; loading it tells how many rows it has.
void Trainer::plan(const SampleSource& source) {
  const std::vector<Index> order = shuffled(source.samples(), 0, options_.seed);
  const Index needed = kRowsPerCodeword * options_.codewords;
  Index rows = 0;
  std::size_t first = 0;
  for (; first < order.size() && rows < needed; ++first)
    rows += real_rows(source.load(order[first]), model_.config());
  require_input(rows >= needed,
                "--codewords={}: the first batch needs {} tokens (4 a codeword), but {} samples "
                "have {} (give more --samples, or at most --codewords {})",
                options_.codewords, needed, order.size(), rows, rows / kRowsPerCodeword);
  first = std::min(order.size(), std::max(first, static_cast<std::size_t>(options_.batch)));

  batches_.emplace_back(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first));
  if (options_.update == Update::kmeans) return;
  append_chunks(std::span(order).subspan(first), options_.batch, batches_);
  for (int epoch = 1; epoch < options_.epochs; ++epoch)
    append_chunks(shuffled(source.samples(), epoch, options_.seed), options_.batch, batches_);
}

Index Trainer::steps() const {
  return std::ssize(exchanges_) + std::ssize(batches_) - 1;
}

double Trainer::work(Index step) const {
  const Index batch = std::max<Index>(0, step - std::ssize(exchanges_) + 1);
  return static_cast<double>(batches_[static_cast<std::size_t>(batch)].size());
}

std::string Trainer::step_name() const {
  const Index codebooks = std::ssize(exchanges_);
  if (step_ < codebooks) return fmt::format("codebook {} of {}", step_ + 1, codebooks);
  return fmt::format("batch {} of {}", step_ - codebooks + 2, batches_.size());
}

void Trainer::step(const std::function<void(double)>& on_part) {
  TW_REQUIRE(!is_done(), "step {} of {}", step_ + 1, steps());
  const Index codebooks = std::ssize(exchanges_);
  if (step_ < codebooks)
    fit(exchanges_[static_cast<std::size_t>(step_)], on_part);
  else
    follow(batches_[static_cast<std::size_t>(step_ - codebooks + 1)], on_part);
  ++step_;
  if (step_ == codebooks) first_batch_.clear();
}

std::vector<model::ModelInput> Trainer::inputs_of(const std::vector<Index>& batch) const {
  std::vector<model::ModelInput> inputs;
  for (auto i = static_cast<std::size_t>(ranks_.rank()); i < batch.size();
       i += static_cast<std::size_t>(ranks_.size()))
    std::ranges::move(source_.load(batch[i]), std::back_inserter(inputs));
  return inputs;
}

void Trainer::run(std::span<const model::ModelInput> inputs,
                  std::span<CalibrationObserver* const> observers,
                  const std::function<void(double)>& on_part) {
  const auto stand_ins =
      compress::random_codebooks(model_.config(), use_, options_.codewords, options_.seed);
  StateSource source(states_, use_.groups, *stand_ins);
  ops::set_threads(options_.setting.threads);
  const compress::CodebookSet codebooks(model_, use_, source, {std::pmr::new_delete_resource()});
  std::size_t done = 0;
  run_calibration(model_, options_.setting, codebooks, -1, inputs, observers, [&] {
    ++done;
    if (on_part) on_part(static_cast<double>(done) / static_cast<double>(inputs.size()));
  });
}

void Trainer::fit(Index exchange, const std::function<void(double)>& on_part) {
  if (first_batch_.empty()) first_batch_ = inputs_of(batches_.front());
  std::vector<ExchangeRows> devices(static_cast<std::size_t>(options_.setting.devices),
                                    ExchangeRows(exchange));
  run(first_batch_, pointers(devices), on_part);

  const Matrix<float> rows = stacked_rows(devices, model_.config().hidden);
  devices.clear();
  const Index width = rows.cols() / use_.groups;
  for (Index group = 0; group < use_.groups; ++group) {
    const MatrixView<const float> part = rows.view().cols(group * width, width);
    Clusters clusters = kmeans(part,
                               {.codewords = options_.codewords,
                                .similarity = similarity_of(use_),
                                .seed = options_.seed,
                                .stream = fmt::format("kmeans.{}.{}", exchange, group)},
                               ranks_);
    Matrix<float> axes;
    if (options_.update == Update::subspace)
      axes = principal_axes(part, std::min(options_.subspace_width, width), options_.seed, ranks_);
    states_[codebook_number(use_, exchange, group)] =
        CodebookState::from(std::move(clusters), std::move(axes));
  }
  if (exchange != exchanges_.front()) return;
  auto seen = static_cast<double>(rows.rows());
  sum_over_ranks(ranks_, std::span(&seen, 1));
  rows_seen_ = static_cast<std::int64_t>(seen);
}

void Trainer::follow(const std::vector<Index>& batch, const std::function<void(double)>& on_part) {
  std::vector<BatchStatistics> devices;
  for (int device = 0; device < options_.setting.devices; ++device)
    devices.emplace_back(
        use_, states_, fmt::format("reseed.{}.{}.{}", step_, ranks_.rank(), device), options_.seed);
  run(inputs_of(batch), pointers(devices), on_part);

  double seen = 0;
  for (const BatchStatistics& device : devices) seen += static_cast<double>(device.rows());
  sum_over_ranks(ranks_, std::span(&seen, 1));
  rows_seen_ += static_cast<std::int64_t>(seen);

  BatchStatistics& all = devices.front();
  for (std::size_t number = 0; number < states_.size(); ++number) {
    if (!has_state(number)) continue;
    for (std::size_t p = 1; p < devices.size(); ++p) {
      all.statistics(number) += devices[p].statistics(number);
      all.candidates(number).merge(devices[p].candidates(number));
    }
    all.statistics(number).reduce(ranks_);
    all.candidates(number).reduce(ranks_);
    follow_batch(states_[number], options_.update, all.statistics(number), all.candidates(number));
  }
}

const CodebookState& Trainer::state(Index exchange, Index group) const {
  const std::size_t number = codebook_number(use_, exchange, group);
  TW_REQUIRE(has_state(number), "the codebook of exchange {} is not made yet", exchange);
  return states_[number];
}

}  // namespace thinwire::train
