#include "fabric/mpi_handles.hpp"

#include <array>
#include <exception>
#include <string_view>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {

void check_mpi(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(fmt::format("{} failed: {}", function,
                          std::string_view(text.data(), static_cast<std::size_t>(length))));
}

Communicator::Communicator(MPI_Comm handle) : handle_(handle) {
  if (!is_null()) MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
}

Communicator::~Communicator() {
  if (is_null() || std::uncaught_exceptions() > 0) return;
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized == 0) MPI_Comm_free(&handle_);
}

int Communicator::rank() const {
  int rank = 0;
  check_mpi(MPI_Comm_rank(handle_, &rank), "MPI_Comm_rank");
  return rank;
}

int Communicator::size() const {
  int size = 0;
  check_mpi(MPI_Comm_size(handle_, &size), "MPI_Comm_size");
  return size;
}

Communicator Communicator::duplicate() const {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(handle_, &copy), "MPI_Comm_dup");
  return Communicator(copy);
}

Communicator Communicator::split(int color) const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(handle_, color < 0 ? MPI_UNDEFINED : color, rank(), &part),
            "MPI_Comm_split");
  return Communicator(part);
}

Communicator Communicator::split_by_node() const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &part),
            "MPI_Comm_split_type");
  return Communicator(part);
}

}  // namespace thinwire::fabric
