#include "locked_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

constexpr off_t kFirstByte = off_t{1} << 62;
constexpr std::chrono::milliseconds kLookInterval{2};

struct flock byte_of(LockedFile::Part part) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kFirstByte + static_cast<off_t>(part);
  lock.l_len = 1;
  return lock;
}

}  // namespace

LockedFile::LockedFile(const std::filesystem::path& file, Part part,
                       std::chrono::milliseconds patience)
    : descriptor_(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0)
    throw Error(fmt::format("cannot open {}: {}", file.string(), std::strerror(errno)));
  const auto end = std::chrono::steady_clock::now() + patience;
  struct flock lock = byte_of(part);
  while (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
    const int reason = errno;
    if (reason != EAGAIN && reason != EACCES && reason != EINTR) {
      ::close(descriptor_);
      throw Error(fmt::format("cannot lock {}: {}", file.string(), std::strerror(reason)));
    }
    if (std::chrono::steady_clock::now() >= end) return;
    std::this_thread::sleep_for(kLookInterval);
  }
  is_locked_ = true;
}

LockedFile::~LockedFile() {
  ::close(descriptor_);
}

}  // namespace thinwire::harness
