#include "thinwire/harness/session.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "thinwire/fabric/mpi_session.hpp"
#include "thinwire/fabric/timeline.hpp"
#include "thinwire/harness/agreement_record.hpp"
#include "thinwire/harness/answer_record.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/chosen_levels.hpp"
#include "thinwire/harness/codebook_store.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/harness/model_store.hpp"
#include "thinwire/harness/node_place.hpp"
#include "thinwire/harness/placement.hpp"
#include "thinwire/harness/run_device.hpp"
#include "thinwire/harness/shared_execution.hpp"
#include "thinwire/harness/statistics.hpp"

namespace thinwire::harness {
namespace {

using Seconds64 = std::chrono::duration<double>;
using fabric::DeviceIteration;

/// What rank 0 knows when all are done.
struct Outcome {
  std::vector<DeviceReport> reports;  ///< one a device, then the terminal's if there is one
  std::vector<Capture> captures;      ///< one a sequence, when asked for
  std::vector<Placement> placements;  ///< of every rank
  double setup_s = 0;
};

/// "--devices=3 and a terminal"
std::string needed_ranks(const RunSpec& spec) {
  return fmt::format("--devices={}{}", spec.devices, spec.has_terminal() ? " and a terminal" : "");
}

bool wants_captures(const RunSpec& spec) {
  return !spec.input.empty() || !spec.outputs.empty() || spec.wants_agreement();
}

/// Wall time of an iteration over the compute time of all devices and the terminal, which turns
/// serialise: 1 is perfect. Evicting caches is not part of it. Median over the iterations;
/// meaningful under the emulated clock only.
double emulation_overhead(const RunSpec& spec, std::span<const DeviceReport> reports) {
  if (spec.clock != fabric::Clock::emulated) return std::nan("");
  std::vector<double> slowness = spec.slowness_per_device();
  slowness.resize(reports.size(), 1.0);  // of the terminal
  std::vector<double> ratios;
  for (std::size_t i = 0; i < reports[0].iterations.size(); ++i) {
    double wall_s = 0;
    double compute_s = 0;
    double eviction_s = 0;
    for (std::size_t p = 0; p < reports.size(); ++p) {
      const DeviceIteration& iteration = reports[p].iterations[i];
      eviction_s += iteration.eviction_s;
      wall_s = std::max(wall_s, iteration.wall_s);
      compute_s += iteration.links[0].compute_s / slowness[p];
    }
    ratios.push_back((wall_s - eviction_s) / compute_s);
  }
  return summarize(ratios).p50;
}

/// The layout of records.
Times times_of(std::span<const DeviceReport> reports) {
  const std::size_t links = reports[0].iterations[0].links.size();
  const std::size_t iterations = reports[0].iterations.size();
  std::vector times(links, std::vector(iterations, std::vector<fabric::LinkTimes>(reports.size())));
  for (std::size_t l = 0; l < links; ++l)
    for (std::size_t i = 0; i < iterations; ++i)
      for (std::size_t p = 0; p < reports.size(); ++p)
        times[l][i][p] = reports[p].iterations[i].links[l];
  return times;
}

/// Of the exchanges before blocks: the other collectives have no work to hide behind.
Windows windows_of(const cost::Prediction& sequence, std::span<const DeviceReport> devices) {
  using Kind = cost::ScheduledExchange::Kind;
  Windows windows(devices[0].iterations.size());
  for (std::size_t i = 0; i < windows.size(); ++i)
    for (std::size_t e = 0; e < sequence.exchanges.size(); ++e) {
      if (sequence.exchanges[e].kind != Kind::all_gather) continue;
      const auto window_s = [&](const DeviceReport& device) {
        return device.iterations[i].windows_s.at(e);
      };
      windows[i].push_back(window_s(*std::ranges::min_element(devices, {}, window_s)));
    }
  return windows;
}

void require_equal_counts(const Point& point, std::span<const DeviceReport> reports) {
  for (const DeviceReport& report : reports)
    for (const DeviceIteration& iteration : report.iterations)
      TW_REQUIRE(iteration.operations == report.iterations[0].operations &&
                     iteration.traffic.payload_bits == report.iterations[0].traffic.payload_bits,
                 "{} counted differently in two iterations", point.spec.strategy);
}

/// Of the first iteration what never arrived, which is alike in all; of all what was sent again.
void fill_losses(Result& result, std::span<const DeviceReport> devices) {
  const fabric::Loss loss = result.spec.links().front().loss;
  if (loss.drops()) {
    result.losses.emplace();
    for (const DeviceReport& device : devices) *result.losses += device.iterations[0].losses;
  }
  if (!loss.repeats()) return;
  const std::vector<DeviceIteration>& iterations = devices[0].iterations;
  result.repeated_packets.assign(iterations[0].repeated_packets.size(), 0.0);
  for (const DeviceIteration& iteration : iterations)
    for (std::size_t link = 0; link < result.repeated_packets.size(); ++link)
      result.repeated_packets[link] += static_cast<double>(iteration.repeated_packets[link]) /
                                       static_cast<double>(iterations.size());
}

/// Of the first iteration; the others are equal.
void fill_counts(Result& result, std::span<const DeviceReport> reports) {
  const auto devices = static_cast<std::size_t>(result.spec.devices);
  for (const DeviceReport& report : reports.first(devices)) {
    result.operations.push_back(report.iterations[0].operations);
    result.traffic.push_back(report.iterations[0].traffic);
    result.held_bytes.push_back(report.workspace_bytes);
    result.resident_bytes.push_back(report.resident_bytes);
  }
  if (reports.size() > devices) {
    result.terminal_operations = reports[devices].iterations[0].operations;
    result.terminal_traffic = reports[devices].iterations[0].traffic;
  }
  result.link_bits = reports[0].iterations[0].link_bits;
  fill_losses(result, reports.first(devices));
}

/// Where a controller chooses levels: what every device sent in every iteration is no less than at
/// the coarsest level and no more than at the finest, with as many headers. Coded indices may take
/// nothing.
bool are_within_levels(const Point& point, std::span<const DeviceReport> reports) {
  const RunSpec coarsest = at_coarsest_level(point.spec, point.codebook->levels);
  for (std::size_t p = 0; p < static_cast<std::size_t>(point.spec.devices); ++p) {
    std::int64_t headers = 0, least = 0, most = 0;
    for (std::size_t s = 0; s < point.predictions.size(); ++s) {
      const Index tokens = point.sample.sequences[s].tokens(point.config);
      const bool is_coded = !point.coding_bounds.empty();
      headers += point.predictions[s].header_bits[p];
      if (!is_coded)
        least += cost::predict(to_workload(coarsest, point.config, tokens)).payload_bits[p];
      most += (is_coded ? point.coding_bounds.worst : point.predictions)[s].payload_bits[p];
    }
    for (const DeviceIteration& iteration : reports[p].iterations)
      if (iteration.traffic.payload_bits < least || iteration.traffic.payload_bits > most ||
          iteration.traffic.header_bits != headers)
        return false;
  }
  return true;
}

/// In the memory of rank 0's node.
std::int64_t own_weights_bytes(const Outcome& outcome) {
  std::int64_t bytes = 0;
  for (std::size_t p = 0; p < outcome.reports.size(); ++p)
    if (outcome.placements[p].host == outcome.placements[0].host)
      bytes += outcome.reports[p].own_weights_bytes;
  return bytes;
}

void write_trace(const Point& point, std::span<const DeviceReport> reports) {
  if (point.spec.trace.empty()) return;
  std::vector<fabric::TimelineEvent> events;
  for (const DeviceReport& report : reports)
    events.insert(events.end(), report.timeline.begin(), report.timeline.end());
  std::vector<std::string> names;
  for (const fabric::Link& link : point.spec.links()) names.push_back(to_string(link));
  std::ofstream file(point.spec.trace);
  file << fabric::chrome_trace(events, names, point.spec.ranks()).dump() << std::endl;
  require_input(file.good(), "--trace={}: cannot be written", point.spec.trace);
}

}  // namespace

struct Session::Impl {
  std::optional<fabric::MpiSession> mpi;
  ModelStore models;
  std::unique_ptr<fabric::Transport> alone;  // where no MPI is
  CodebookStore codebooks;
  std::function<void(const std::string&)> tell_abort;

  Impl(int& argc, char**& argv) : models(launch(argc, argv)), codebooks(session()) {}
  fabric::MpiSession* launch(int& argc, char**& argv) {
    if (!is_launched()) return nullptr;
    mpi.emplace(argc, argv);
    return &*mpi;
  }
  fabric::MpiSession* session() { return mpi ? &*mpi : nullptr; }
  void meet() {
    if (mpi) mpi->world().meet();
  }
  std::unique_ptr<fabric::Transport> transport_for(int ranks) {
    return mpi ? mpi->first_ranks(ranks) : fabric::make_solo_transport();
  }
  [[noreturn]] void abort(const std::string& message, int status);
  void on_stuck(const std::string& what);
  std::optional<Outcome> run_devices(const Point& point, const std::vector<fabric::Link>& links,
                                     const Shared& shared,
                                     const std::function<void(double)>& on_progress);
  Result make_result(const Point& point, const Shared& shared, const Outcome& outcome);
  void fill_shared(Result& result, const Point& point, const Shared& shared) const;
  void judge_answer(Result& result, const Point& point, const Shared& shared,
                    std::span<const Capture> captures);
  Json run_environment() const;
};

bool Session::is_launched() {
  return fabric::is_under_launcher();
}

Session::Session(int& argc, char**& argv) : impl_(std::make_unique<Impl>(argc, argv)) {}

Session::~Session() = default;

bool Session::is_root() const {
  return !impl_->mpi || impl_->mpi->rank() == 0;
}

int Session::ranks() const {
  return impl_->mpi ? impl_->mpi->size() : 1;
}

const model::Model& Session::model_for(const Point& point) {
  return impl_->models.model_for(point);
}

Shared Session::shared_for(const Point& point) {
  const model::Model& model = impl_->models.model_for(point);
  return {model, impl_->codebooks.set_for(point, model)};
}

void Session::describe(Result& result, const Point& point, const Shared& shared) const {
  impl_->fill_shared(result, point, shared);
  result.environment = impl_->run_environment();
}

const fabric::ProgressBoard* Session::board() const {
  return impl_->mpi ? &impl_->mpi->board() : nullptr;
}

fabric::Transport& Session::everyone() {
  if (impl_->mpi) return impl_->mpi->world();
  if (!impl_->alone) impl_->alone = fabric::make_solo_transport();
  return *impl_->alone;
}

void Session::on_abort(std::function<void(const std::string&)> tell) {
  impl_->tell_abort = std::move(tell);
}

void Session::abort(const std::string& message, int status) {
  impl_->abort(message, status);
}

std::unique_ptr<fabric::Transport> Session::first_ranks(int count) {
  return impl_->transport_for(count);
}

Json Session::environment() const {
  return impl_->run_environment();
}

void Session::end_stuck(const std::string& what) {
  impl_->on_stuck(what);
}

std::string Session::share(const std::string& text_of_root) {
  if (!impl_->mpi) return text_of_root;
  const std::string mine = is_root() ? text_of_root : std::string();
  const auto all = fabric::gather_all(impl_->mpi->world(), std::as_bytes(std::span(mine)));
  const auto* text = reinterpret_cast<const char*>(all[0].data());
  return {text, all[0].size()};
}

void Session::Impl::abort(const std::string& message, int status) {
  if (tell_abort) tell_abort(mpi ? fmt::format("rank {}: {}", mpi->rank(), message) : message);
  if (mpi) mpi->abort(message, status);
  fmt::print(stderr, "thinwire: {}\n", message);
  std::fflush(nullptr);
  std::_Exit(status);
}

void Session::Impl::on_stuck(const std::string& what) {
  abort(fmt::format("{}; raise --timeout if this is meant to be so", what), 1);
}

std::vector<Result> Session::run(std::span<const Point> points,
                                 const std::function<void(double)>& on_progress) {
  const Point& point = points.front();  // the others differ in their links alone
  require_input(point.spec.ranks() <= ranks(),
                "{}: only {} MPI rank{} (start {}, or leave mpirun away)", needed_ranks(point.spec),
                ranks(), ranks() == 1 ? "" : "s", point.spec.ranks());
  const auto start = std::chrono::steady_clock::now();
  const Shared shared = shared_for(point);
  const Seconds64 packed = std::chrono::steady_clock::now() - start;

  const SharedLinks links = shared_links(points);
  std::optional<Outcome> outcome = impl_->run_devices(point, links.links, shared, on_progress);
  impl_->meet();  // ranks without a part have slept here
  if (!is_root()) return {};
  outcome->setup_s += packed.count();
  const Result all = impl_->make_result(point, shared, *outcome);
  std::vector<Result> results;
  for (std::size_t i = 0; i < points.size(); ++i)
    results.push_back(result_under(all, points[i].spec, links.of_point[i]));
  return results;
}

std::optional<Outcome> Session::Impl::run_devices(const Point& point,
                                                  const std::vector<fabric::Link>& links,
                                                  const Shared& shared,
                                                  const std::function<void(double)>& on_progress) {
  OwnPlace own(session());
  const auto all = transport_for(point.spec.ranks());
  const auto devices = point.spec.has_terminal() ? transport_for(point.spec.devices) : nullptr;
  if (!all) return std::nullopt;
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  DeviceRun device(
      shared, point, links, {*all, devices.get()},
      [this](const std::string& what) { on_stuck(what); }, mpi ? &mpi->board() : nullptr,
      own.memory());
  outcome.placements = device.placements();
  outcome.setup_s = Seconds64(std::chrono::steady_clock::now() - start).count();

  const double iterations = point.spec.warmup + point.spec.iterations;
  DeviceReport mine = device.iterate([&](int done) { on_progress(done / iterations); });
  mine.own_weights_bytes = own.used_bytes();
  if (wants_captures(point.spec))
    for (const model::ModelInput& sequence : point.sample.sequences)
      outcome.captures.push_back(device.capture(sequence));
  const auto reports = fabric::gather_all(*all, pack(mine));
  if (all->rank() != 0) return std::nullopt;
  for (const std::vector<std::byte>& bytes : reports) outcome.reports.push_back(unpack(bytes));
  return outcome;
}

Result Session::Impl::make_result(const Point& point, const Shared& shared,
                                  const Outcome& outcome) {
  const std::span<const DeviceReport> reports = outcome.reports;
  const bool is_controlled = point.spec.level_control != strategy::LevelControl::fixed;
  if (!is_controlled) require_equal_counts(point, reports);
  Result result{
      .spec = point.spec, .predictions = point.predictions, .coding_bounds = point.coding_bounds};
  for (const model::ModelInput& sequence : point.sample.sequences)
    result.tokens.push_back(sequence.tokens(point.config));
  fill_counts(result, reports);
  for (const DeviceReport& report : reports) result.frames += report.frames;
  if (is_controlled) result.counted_equals_predicted = are_within_levels(point, reports);
  result.times = times_of(reports);
  result.windows_s = windows_of(point.predictions.front(),
                                reports.first(static_cast<std::size_t>(point.spec.devices)));
  result.setup_s = outcome.setup_s;
  result.emulation_overhead = emulation_overhead(point.spec, reports);
  fill_shared(result, point, shared);
  if (result.shared_bytes) *result.shared_bytes += own_weights_bytes(outcome);
  if (fabric::is_wall_clock(point.spec.clock))
    result.contended = is_contended(
        std::span(outcome.placements).first(static_cast<std::size_t>(point.spec.devices)),
        point.spec.threads);
  result.environment = run_environment();
  result.environment["placement"] = placements_json(outcome.placements);

  write_trace(point, reports);
  if (!point.spec.outputs.empty()) write_outputs(point, outcome.captures);
  judge_answer(result, point, shared, outcome.captures);
  return result;
}

/// Beside the single device, which this rank plays alone: what was answered, and how far from it.
void Session::Impl::judge_answer(Result& result, const Point& point, const Shared& shared,
                                 std::span<const Capture> captures) {
  const bool has_answer = !point.spec.input.empty();
  if (!has_answer && !point.spec.wants_agreement()) return;
  std::vector<Capture> single;
  for (const model::ModelInput& sequence : point.sample.sequences)
    single.push_back(capture_single(shared.model, sequence, point.spec.threads));
  if (has_answer) result.answer = answer_record(point, captures, single);
  if (point.spec.wants_agreement()) result.agreement = agreement_record(point, captures, single);
}

/// What the node holds once, for all its ranks.
void Session::Impl::fill_shared(Result& result, const Point& point, const Shared& shared) const {
  result.model_fingerprint = shared.model.fingerprint();
  result.codebook = point.codebook;
  if (mpi && mpi->size() > 1) result.shared_bytes = models.shared_bytes();
  if (shared.codebooks == nullptr) return;
  if (result.shared_bytes) *result.shared_bytes += codebooks.shared_bytes();
  const double calibration_s = shared.codebooks->calibration_s();
  result.calibration = Calibration{shared.codebooks->calibration_operations(), calibration_s};
}

Json Session::Impl::run_environment() const {
  return mpi ? harness::environment({.mpi = fabric::mpi_version(), .hosts = mpi->hosts()})
             : harness::environment({});
}

}  // namespace thinwire::harness
