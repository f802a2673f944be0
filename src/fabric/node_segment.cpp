#include "fabric/node_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/node_memory.hpp"

namespace thinwire::fabric {
namespace {

/// Closes on every way out; the mapping keeps the memory.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

int create(std::int64_t bytes) {
  const int descriptor = ::memfd_create(kNodeMemoryName, MFD_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, bytes) == 0) return descriptor;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return -1;
}

int attach(long process, long descriptor) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}

bool is_true_on_all(const Communicator& node, bool is_mine) {
  int mine = is_mine ? 1 : 0, all = 0;
  check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, node.handle()), "MPI_Allreduce");
  return all == 1;
}

}  // namespace

NodeSegment::NodeSegment(const Communicator& node, std::int64_t bytes) : bytes_(bytes) {
  const bool is_first = node.rank() == 0;
  const int made = is_first ? create(bytes) : -1;
  std::array<long, 2> origin = {::getpid(), made};
  check_mpi(MPI_Bcast(origin.data(), 2, MPI_LONG, 0, node.handle()), "MPI_Bcast");
  const File file(is_first || origin[1] < 0 ? made : attach(origin[0], origin[1]));

  void* const mapped =
      file.descriptor() < 0
          ? MAP_FAILED
          : ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE, file.descriptor(), 0);
  const std::string reason = std::strerror(errno);
  if (mapped != MAP_FAILED) data_ = static_cast<std::byte*>(mapped);
  // Also the barrier after which the first rank may close its descriptor.
  if (is_true_on_all(node, data_ != nullptr)) return;

  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes));
  throw Error(fmt::format("{} bytes of memory shared by this node's ranks: {}", bytes,
                          data_ != nullptr ? "another rank could not map them" : reason));
}

NodeSegment::~NodeSegment() {
  ::munmap(data_, static_cast<std::size_t>(bytes_));
}

}  // namespace thinwire::fabric
