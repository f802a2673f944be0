#include "thinwire/fabric/mpi_session.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "fabric/mpi_session_impl.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

void initialize(int& argc, char**& argv) {
  // A rank inside a collective gives its core to the others. Only where the user has not chosen.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
}

Communicator duplicate_of_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  return Communicator(copy);
}

ProgressBoard board_in(const NodeSegment& segment, const Communicator& node) {
  auto* const rows = reinterpret_cast<ProgressRow*>(segment.data());
  return {{rows, static_cast<std::size_t>(node.size())}, rows + node.rank()};
}

}  // namespace

bool is_under_launcher() {
  constexpr std::array kVariables = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  return std::ranges::any_of(kVariables,
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  std::string version(text.data(), static_cast<std::size_t>(length));
  version.resize(std::min(version.find_first_of(",\n"), version.size()));
  const std::size_t letter = version.find(" v");  // "Open MPI v4.1.4"
  if (letter != std::string::npos) version.erase(letter + 1, 1);
  return version;
}

MpiSession::Impl::Impl()
    : all(duplicate_of_world()),
      node(all.split_by_node()),
      segment(node, sizeof(NodeLock)),
      turn(*reinterpret_cast<NodeLock*>(segment.data())),
      board_segment(node, node.size() * static_cast<std::int64_t>(sizeof(ProgressRow))),
      board(board_in(board_segment, node)),
      world(std::make_unique<MpiTransport>(all.duplicate(), node.duplicate(), turn)),
      hosts(world->hosts()) {
  board.mine->sign(all.rank(), ::getpid());
}

MpiSession::MpiSession(int& argc, char**& argv) {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  owns_mpi_ = is_initialized == 0;
  if (owns_mpi_) initialize(argc, argv);
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  if (provided < MPI_THREAD_SERIALIZED)
    throw Error(fmt::format("{} gives thread level {}, MPI_THREAD_SERIALIZED ({}) is needed",
                            mpi_version(), provided, MPI_THREAD_SERIALIZED));
  impl_ = std::make_unique<Impl>();
}

MpiSession::~MpiSession() {
  // A rank that leaves by an exception must not wait for the others in MPI_Finalize: it aborts.
  if (std::uncaught_exceptions() > 0) return;
  impl_.reset();
  if (owns_mpi_) MPI_Finalize();
}

int MpiSession::rank() const {
  return impl_->world->rank();
}
int MpiSession::size() const {
  return impl_->world->size();
}
int MpiSession::hosts() const {
  return impl_->hosts;
}
int MpiSession::node_rank() const {
  return impl_->node.rank();
}
int MpiSession::node_size() const {
  return impl_->node.size();
}

std::unique_ptr<Transport> MpiSession::first_ranks(int devices) {
  require_input(devices >= 1 && devices <= size(),
                "devices {} needs as many MPI ranks, there are {}: start more with mpirun -n {}",
                devices, size(), devices);
  Communicator part = impl_->all.split(rank() < devices ? 0 : -1);
  if (part.is_null()) return nullptr;
  Communicator node = part.split_by_node();
  return std::make_unique<MpiTransport>(std::move(part), std::move(node), impl_->turn);
}

const ProgressBoard& MpiSession::board() const {
  return impl_->board;
}

Transport& MpiSession::world() {
  return *impl_->world;
}

void MpiSession::abort(const std::string& message, int status) {
  fmt::print(stderr, "rank {}: {}\n", rank(), message);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace thinwire::fabric
