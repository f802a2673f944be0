#pragma once
#include <mpi.h>

#include <utility>

namespace thinwire::fabric {

/// Throws Error with MPI's own text unless `code` is MPI_SUCCESS. Communicators of this room return
/// their errors (MPI_ERRORS_RETURN).
void check_mpi(int code, const char* function);

/// Owns a communicator. Freed only when no exception unwinds: freeing is collective, and a rank
/// that leaves by an exception would wait for the others.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(MPI_Comm handle);
  Communicator(Communicator&& other) noexcept
      : handle_(std::exchange(other.handle_, MPI_COMM_NULL)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Communicator();

  MPI_Comm handle() const { return handle_; }
  bool is_null() const { return handle_ == MPI_COMM_NULL; }
  int rank() const;
  int size() const;

  Communicator duplicate() const;
  /// The ranks that give the same color (>= 0), in this one's order; null for the others.
  Communicator split(int color) const;
  /// The ranks that share memory with this one.
  Communicator split_by_node() const;

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

}  // namespace thinwire::fabric
