#include "link_shim/shim.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <new>
#include <thread>
#include <tuple>
#include <utility>

#include "fabric/pacer.hpp"
#include "link_shim/agreement.hpp"
#include "link_shim/world.hpp"
#include "thinwire/base/units.hpp"

namespace thinwire::link_shim {
namespace {

using std::chrono::steady_clock;

// Between two looks at MPI while time passes: others' transfers may need this rank's help.
constexpr std::chrono::microseconds kProgressStep{250};
constexpr std::chrono::microseconds kPause{50};

/// One number that all ranks map.
std::pair<MPI_Win, std::atomic<double>*> make_medium() {
  MPI_Win window = MPI_WIN_NULL;
  void* mine = nullptr;
  const MPI_Aint bytes = world_rank() == 0 ? sizeof(std::atomic<double>) : 0;
  PMPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
  MPI_Aint size = 0;
  int unit = 0;
  void* memory = nullptr;
  PMPI_Win_shared_query(window, 0, &size, &unit, &memory);
  if (world_rank() == 0) new (memory) std::atomic<double>(0.0);
  PMPI_Barrier(MPI_COMM_WORLD);
  return {window, static_cast<std::atomic<double>*>(memory)};
}

int delete_shadow(MPI_Comm, int, void* value, void*) {
  delete static_cast<std::shared_ptr<Shadow>*>(value);
  return MPI_SUCCESS;
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::unique_ptr<Shim>& Shim::instance() {
  // Never destroyed at exit: a rank that exits without MPI_Finalize must not wait for the others.
  static auto* const shim = new std::unique_ptr<Shim>;
  return *shim;
}

Shim* Shim::active() {
  return instance().get();
}

void Shim::begin() {
  Settings settings = agreed_settings();
  if (settings.link) {
    instance() = std::make_unique<Shim>(std::move(settings));
    instance()->adopt(MPI_COMM_WORLD);
  } else if (world_rank() == 0) {
    say("THINWIRE_RATE is not set, messages pass unshaped (write THINWIRE_RATE=10Mbps, or "
        "unlimited for a latency alone)");
  }
}

void Shim::end() {
  if (active() == nullptr) return;
  if (active()->settings_.report) active()->report();
  instance().reset();
}

Shim::Shim(Settings settings) : settings_(std::move(settings)) {
  std::atomic<double>* medium_free_s = nullptr;
  if (settings_.link->topology == fabric::Topology::shared)
    std::tie(medium_window_, medium_free_s) = make_medium();
  endpoint_ = std::make_unique<Endpoint>(*settings_.link, world_rank(), medium_free_s);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_shadow, &keyval_, nullptr);
  PMPI_Comm_dup(MPI_COMM_SELF, &progress_);
}

Shim::~Shim() {
  if (shadow_of(MPI_COMM_WORLD) != nullptr) PMPI_Comm_delete_attr(MPI_COMM_WORLD, keyval_);
  PMPI_Comm_free_keyval(&keyval_);
  PMPI_Comm_free(&progress_);
  if (medium_window_ != MPI_WIN_NULL) PMPI_Win_free(&medium_window_);
}

void Shim::adopt(MPI_Comm communicator) {
  if (communicator == MPI_COMM_NULL) return;
  int is_inter = 0;
  PMPI_Comm_test_inter(communicator, &is_inter);
  if (is_inter != 0) return;
  std::vector<int> nodes = nodes_of(communicator);
  if (nodes.size() < 2) return;
  PMPI_Comm_set_attr(communicator, keyval_,
                     new std::shared_ptr<Shadow>(std::make_shared<Shadow>(
                         communicator, *settings_.link, std::move(nodes))));
}

std::shared_ptr<Shadow> Shim::shadow_of(MPI_Comm communicator) const {
  std::shared_ptr<Shadow>* shadow = nullptr;
  int is_set = 0;
  PMPI_Comm_get_attr(communicator, keyval_, static_cast<void*>(&shadow), &is_set);
  return is_set != 0 ? *shadow : nullptr;
}

Stamp Shim::reserve(int to, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++messages_;
  link_bits_ += 8 * settings_.link->bytes_on_link(bytes);
  return endpoint_->send(to, bytes, now_s());
}

double Shim::arrival_s(const Stamp& stamp) {
  const std::lock_guard lock(mutex_);
  return endpoint_->receive(stamp);
}

Entry Shim::enter() {
  const std::lock_guard lock(mutex_);
  ++collectives_;
  return endpoint_->enter(now_s());
}

void Shim::leave(const Entry& before, const Entry& after, std::int64_t link_bits) {
  const std::lock_guard lock(mutex_);
  endpoint_->leave(before, after);
  link_bits_ += link_bits;
}

void Shim::wait_until(double time_s) {
  const auto deadline = steady_clock::time_point(
      std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(time_s)));
  const double before_s = now_s();
  if (before_s >= time_s) return;
  while (deadline - steady_clock::now() > 2 * kProgressStep) {
    let_mpi_progress();
    std::this_thread::sleep_for(kProgressStep);
  }
  fabric::sleep_until(deadline);
  const std::lock_guard lock(mutex_);
  waited_s_ += now_s() - before_s;
}

void Shim::pause() {
  std::this_thread::sleep_for(kPause);
}

void Shim::note_unshaped(const char* call) {
  const std::lock_guard lock(mutex_);
  if (unshaped_.insert(call).second && world_rank() == 0)
    say(fmt::format("{} passes unshaped", call));
}

/// Looks for a message that nobody sends: MPI libraries progress inside their calls only.
void Shim::let_mpi_progress() {
  int is_there = 0;
  PMPI_Iprobe(0, 0, progress_, &is_there, MPI_STATUS_IGNORE);
}

void Shim::report() const {
  const std::array<double, 4> mine = {static_cast<double>(messages_),
                                      static_cast<double>(collectives_),
                                      static_cast<double>(link_bits_), waited_s_};
  std::array<double, 4> sum{};
  double most_s = 0;
  PMPI_Reduce(mine.data(), sum.data(), 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  PMPI_Reduce(&mine[3], &most_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (world_rank() != 0) return;
  const int ranks = world_size();
  say(
      fmt::format("{}: {} ranks sent {:.0f} messages and {:.0f} collectives, {:.6g} Mbit on the "
                  "link; waiting added {} a rank, {} at most",
                  fabric::to_string(*settings_.link), ranks, sum[0], sum[1] / ranks, sum[2] / 1e6,
                  to_string(Seconds(sum[3] / ranks)), to_string(Seconds(most_s))));
}

}  // namespace thinwire::link_shim
