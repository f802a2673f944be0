#include "link_shim/shim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "fabric/pacer.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/units.hpp"

namespace thinwire::link_shim {
namespace {

using std::chrono::steady_clock;

// Between two looks at MPI while time passes: others' transfers may need this rank's help.
constexpr std::chrono::microseconds kProgressStep{250};
constexpr std::chrono::microseconds kPause{50};

int world_rank() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void say(const std::string& text) {
  fmt::print(stderr, "thinwire_link: {}\n", text);
  std::fflush(stderr);
}

/// The clock is one host's.
void require_one_host() {
  MPI_Comm host = MPI_COMM_NULL;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  std::array<int, 2> mine = {0, 0}, sum = {0, 0};
  int rank = 0, size = 0;
  PMPI_Comm_rank(host, &rank);
  PMPI_Comm_size(host, &size);
  PMPI_Comm_free(&host);
  mine = {rank == 0 ? 1 : 0, size == world_size() ? 0 : 1};
  PMPI_Allreduce(mine.data(), sum.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require_input(sum[0] == 1,
                "the {} ranks are on {} hosts, whose clocks differ: start them all on one host",
                world_size(), sum[0]);
}

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
  static std::unique_ptr<Shim> shim;
  return shim;
}

Shim* Shim::active() {
  return instance().get();
}

void Shim::begin() {
  try {
    const Settings settings = read_settings([](const char* name) { return std::getenv(name); });
    if (settings.link) {
      instance() = std::make_unique<Shim>(settings);
      instance()->adopt(MPI_COMM_WORLD);
    } else if (world_rank() == 0) {
      say("THINWIRE_RATE is not set, messages pass unshaped (write THINWIRE_RATE=10Mbps, or "
          "unlimited for a latency alone)");
    }
  } catch (const std::exception& error) {
    if (world_rank() == 0) say(error.what());
    // All ranks read the same settings; the others wait for the line to be out.
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Abort(MPI_COMM_WORLD, 2);
  }
}

void Shim::end() {
  if (active() == nullptr) return;
  if (active()->settings_.report) active()->report();
  instance().reset();
}

Shim::Shim(Settings settings) : settings_(std::move(settings)) {
  const fabric::LinkModel checked(*settings_.link, world_size());
  require_one_host();
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
  link_bits_ += 8 * bytes;
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
