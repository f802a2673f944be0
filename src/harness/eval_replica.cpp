#include "thinwire/harness/eval_replica.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>

#include "thinwire/fabric/local_devices.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/strategy/terminal.hpp"

namespace thinwire::harness {
namespace {

using fabric::Transport;

/// A sample on its way through the devices.
struct Piece {
  Index number;
  eval::Sample sample;
  std::vector<SequenceOutputs> outputs;
};

/// What the devices of a replica share: the samples they are at, and what they make of them.
struct Desk {
  std::vector<Piece> pieces;
  std::vector<std::vector<SequenceTask>> tasks;       ///< [formation]
  std::vector<DeviceCounts> counts;                   ///< [P]
  std::vector<std::vector<fabric::LinkTimes>> times;  ///< [P][link]
  std::int64_t iteration = 0;                         ///< how often samples were brought before
};

/// Puts a device's rows of every hidden state in their places and adds up what is published, where
/// there is room for it. Passes on what it hears of frames.
class PassObserver final : public strategy::Observer {
 public:
  PassObserver(SequenceOutputs& outputs, FrameCounter* frames)
      : outputs_(outputs), frames_(frames) {}
  bool is_wanted() const {
    return !outputs_.hidden.empty() || !outputs_.published_bits.empty() || frames_ != nullptr;
  }
  void on_hidden(Index index, Slice rows, MatrixView<const float> local) override {
    if (outputs_.hidden.empty()) return;
    copy<float>(
        local,
        outputs_.hidden.at(static_cast<std::size_t>(index)).view().rows(rows.begin, rows.size));
  }
  void on_published(Index exchange, std::span<const std::byte> payload) override {
    if (frames_ != nullptr) frames_->on_published(exchange, payload);
    if (outputs_.published_bits.empty()) return;
    std::atomic_ref bits(outputs_.published_bits.at(static_cast<std::size_t>(exchange)));
    bits += 8 * std::ssize(payload);  // where time is modelled, devices do not take turns
  }

 private:
  SequenceOutputs& outputs_;
  FrameCounter* frames_;
};

DeviceCounts counts_of(const fabric::DeviceIteration& iteration) {
  const fabric::Traffic& traffic = iteration.traffic;
  return {iteration.operations,
          traffic.payload_bits,
          traffic.header_bits,
          traffic.padding_bits,
          traffic.wire_bytes,
          iteration.losses,
          {}};
}

/// Sequences of a sample, and formations, follow one another.
void add(std::vector<fabric::LinkTimes>& sums, std::span<const fabric::LinkTimes> times) {
  sums.resize(times.size());
  for (std::size_t link = 0; link < times.size(); ++link) {
    sums[link].compute_s += times[link].compute_s;
    sums[link].wait_s += times[link].wait_s;
    sums[link].hidden_s += times[link].hidden_s;
    sums[link].skew_s += times[link].skew_s;
  }
}

/// Where time is not asked for, all that a link may do is drop packets.
fabric::Link untimed_link(const RunSpec& spec) {
  const fabric::Link link = spec.links().front();
  if (!link.loss.drops()) return {};
  return {.overhead = link.overhead, .loss = link.loss};
}

/// Time is modelled where anybody asks for it.
fabric::FabricOptions fabric_options(const RunSpec& spec, fabric::Watchdog& watchdog) {
  if (!spec.has_timed_evaluation()) return {.links = {untimed_link(spec)}, .watchdog = &watchdog};
  return {.clock = fabric::Clock::modelled,
          .links = spec.links(),
          .slowness = spec.slowness_per_device(),
          .device_flops_per_s = spec.flops_per_s_per_device(),
          .watchdog = &watchdog};
}

/// A device's strategy and fabric of one formation.
struct Seat {
  std::unique_ptr<strategy::Strategy> strategy;
  std::unique_ptr<fabric::Fabric> fabric;
};

/// One device, on its own thread.
class ReplicaDevice {
 public:
  ReplicaDevice(const Shared& shared, std::span<const Formation> formations, int batch, int device,
                std::span<Transport* const> transports, fabric::Watchdog& watchdog)
      : device_(device), batch_(static_cast<std::size_t>(batch)) {
    for (std::size_t f = 0; f < formations.size(); ++f) {
      Seat& seat = seats_.emplace_back();
      if (transports[f] == nullptr) continue;  // of fewer devices
      const RunSpec& spec = formations[f].spec;
      ops::set_threads(spec.threads);
      seat.strategy = strategy::make_strategy(spec.strategy, shared.model,
                                              strategy_options(spec, shared.codebooks),
                                              {.device = device,
                                               .devices = spec.devices,
                                               .threads = spec.threads,
                                               .lengths = formations[f].lengths,
                                               .memory = &workspace_,
                                               .batch = batch});
      seat.fabric = fabric::make_fabric(*transports[f], fabric_options(spec, watchdog));
      if (spec.level_control != strategy::LevelControl::fixed && shared.codebooks != nullptr)
        frames_.emplace(shared.codebooks->use());
    }
  }

  /// This device's part of all that is on the desk.
  void run(const Desk& desk, DeviceCounts& counts, std::vector<fabric::LinkTimes>& times) {
    for (std::size_t f = 0; f < seats_.size(); ++f) {
      if (!seats_[f].strategy || desk.tasks[f].empty()) continue;
      fabric::Fabric& fabric = *seats_[f].fabric;
      fabric.begin_iteration(desk.iteration);
      const std::span<const SequenceTask> tasks = desk.tasks[f];
      for (std::size_t begin = 0; begin < tasks.size(); begin += batch_)  // a sample may have many
        run_tasks(*seats_[f].strategy, fabric,
                  tasks.subspan(begin, std::min(batch_, tasks.size() - begin)),
                  frames_ ? &*frames_ : nullptr);
      const fabric::DeviceIteration iteration = fabric.end_iteration();
      counts += counts_of(iteration);
      add(times, iteration.links);
    }
    if (!frames_) return;
    counts.frames = frames_->frames();
    frames_->reset();
  }

  int device() const { return device_; }
  std::int64_t held_bytes() const { return workspace_.held_bytes(); }

 private:
  int device_;
  std::size_t batch_;
  TrackingResource workspace_;
  std::vector<Seat> seats_;             // [formation]
  std::optional<FrameCounter> frames_;  // where a controller chooses levels
};

/// Brings samples to the devices and hands out what becomes of them.
class Host {
 public:
  Host(const model::ModelConfig& config, std::span<const Formation> formations,
       const ReplicaWork& work, int devices)
      : config_(config), formations_(formations), work_(work) {
    desk_.counts.resize(static_cast<std::size_t>(devices));
    desk_.times.resize(desk_.counts.size());
    desk_.tasks.resize(formations.size());
  }

  Desk& desk() { return desk_; }

  /// The next samples; none when all are done.
  void bring() {
    desk_.pieces.clear();
    std::ranges::fill(desk_.counts, DeviceCounts{});
    for (std::vector<fabric::LinkTimes>& device : desk_.times) device.clear();
    std::size_t sequences = 0;
    while (next_ < work_.samples.size() && !is_counted_alone_) {
      const Index number = work_.samples[next_];
      const bool is_alone = work_.is_alone(number);
      if (is_alone && !desk_.pieces.empty()) break;
      if (!ahead_) ahead_ = work_.load(number);
      const std::size_t more = ahead_->sequences.size();
      if (!desk_.pieces.empty() && sequences + more > static_cast<std::size_t>(work_.batch)) break;
      sequences += more;
      add(number, std::move(*ahead_));
      ahead_.reset();
      ++next_;
      is_counted_alone_ = is_alone;
    }
    assign();
  }

  void hand_out() {
    for (const Piece& piece : desk_.pieces)
      work_.on_sample({piece.number, piece.sample, piece.outputs});
    work_.on_counts(desk_.counts, is_counted_alone_);
    if (work_.on_times) work_.on_times(desk_.times);
    ++desk_.iteration;
    is_counted_alone_ = false;
  }

 private:
  void add(Index number, eval::Sample sample) {
    std::vector<SequenceOutputs> room =
        make_room(sample, config_, work_.wants_hidden(number), work_.wants_bits);
    desk_.pieces.push_back({number, std::move(sample), std::move(room)});
  }

  void assign() {
    for (std::vector<SequenceTask>& tasks : desk_.tasks) tasks.clear();
    for (Piece& piece : desk_.pieces)
      for (std::size_t s = 0; s < piece.outputs.size(); ++s) {
        const model::ModelInput& input = piece.sample.sequences[s];
        const Formation& formation = formation_of(formations_, input.tokens(config_));
        desk_.tasks[static_cast<std::size_t>(&formation - formations_.data())].push_back(
            {&input, &piece.outputs[s],
             static_cast<std::uint64_t>(piece.number) * piece.outputs.size() + s});
      }
  }

  const model::ModelConfig& config_;
  std::span<const Formation> formations_;
  const ReplicaWork& work_;
  Desk desk_;
  std::size_t next_ = 0;
  std::optional<eval::Sample> ahead_;  // loaded, but not on the desk yet
  bool is_counted_alone_ = false;      // what is on the desk
};

/// Device 0 is the host; the others wait meanwhile.
void play(Host& host, Transport& all, ReplicaDevice& device) {
  Desk& desk = host.desk();
  const bool is_host = device.device() == 0;
  while (true) {
    if (is_host) host.bring();
    all.meet();
    if (desk.pieces.empty()) return;
    const auto own = static_cast<std::size_t>(device.device());
    device.run(desk, desk.counts[own], desk.times[own]);
    all.meet();
    if (is_host) host.hand_out();
  }
}

}  // namespace

std::vector<SequenceOutputs> make_room(const eval::Sample& sample, const model::ModelConfig& config,
                                       bool wants_hidden, bool wants_bits) {
  std::vector<SequenceOutputs> outputs;
  for (const model::ModelInput& sequence : sample.sequences) {
    const Index tokens = sequence.tokens(config);
    const Index rows = config.head == model::HeadKind::language_model ? tokens : 1;
    SequenceOutputs& room = outputs.emplace_back();
    room.values = Matrix<float>(rows, strategy::answer_width(config));
    if (wants_bits) room.published_bits.assign(static_cast<std::size_t>(config.layers), 0);
    for (Index i = 0; wants_hidden && i <= config.layers; ++i)
      room.hidden.emplace_back(tokens, config.hidden);
  }
  return outputs;
}

void run_tasks(strategy::Strategy& strategy, fabric::Fabric& fabric,
               std::span<const SequenceTask> tasks, FrameCounter* frames) {
  std::vector<PassObserver> observers;
  observers.reserve(tasks.size());  // they are pointed to
  std::vector<strategy::BatchItem> batch;
  for (const auto& [input, outputs, number] : tasks) {
    PassObserver& observer = observers.emplace_back(*outputs, frames);
    batch.push_back({input, observer.is_wanted() ? &observer : nullptr, number});
  }
  const auto place = [&](std::size_t item, const strategy::Output& output) {
    if (output.values.rows() == 0) return;
    const MatrixView<float> values = tasks[item].outputs->values.view();
    copy(output.values, values.rows(output.rows.begin, output.values.rows()));
  };
  strategy.forward_batch(batch, fabric, place);
}

int batch_for(const model::ModelConfig& config, Index longest) {
  constexpr Index kMostRows = 1024, kMostOutputs = Index{1} << 24;
  const Index rows = std::max<Index>(1, kMostRows / longest);
  if (config.head != model::HeadKind::language_model) return static_cast<int>(rows);
  const Index outputs = std::max<Index>(1, kMostOutputs / (longest * config.vocabulary));
  return static_cast<int>(std::min(rows, outputs));
}

std::vector<MatrixView<const float>> views_of(std::span<const SequenceOutputs> outputs) {
  std::vector<MatrixView<const float>> values;
  for (const SequenceOutputs& sequence : outputs) values.push_back(sequence.values.view());
  return values;
}

DeviceCounts& DeviceCounts::operator+=(const DeviceCounts& other) {
  operations += other.operations;
  payload_bits += other.payload_bits;
  header_bits += other.header_bits;
  padding_bits += other.padding_bits;
  wire_bytes += other.wire_bytes;
  losses += other.losses;
  frames += other.frames;
  return *this;
}

std::vector<std::int64_t> run_replica(const Shared& shared, const RunSpec& spec,
                                      std::span<const Formation> formations,
                                      const ReplicaWork& work, fabric::Watchdog& watchdog) {
  const auto devices = static_cast<std::size_t>(spec.devices);
  std::vector<std::int64_t> held_bytes(devices);
  if (work.samples.empty()) return held_bytes;
  std::vector<int> groups = {spec.devices};  // all, then those of each formation
  for (const Formation& formation : formations) groups.push_back(formation.spec.devices);
  Host host(shared.model.config(), formations, work, spec.devices);
  fabric::on_local_devices(groups, [&](std::span<Transport* const> own) {
    Transport& all = *own.front();
    ReplicaDevice device(shared, formations, work.batch, all.rank(), own.subspan(1), watchdog);
    play(host, all, device);
    held_bytes[static_cast<std::size_t>(all.rank())] = device.held_bytes();
  });
  return held_bytes;
}

}  // namespace thinwire::harness
