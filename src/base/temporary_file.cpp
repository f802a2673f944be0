#include "thinwire/base/temporary_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "thinwire/base/error.hpp"

namespace thinwire {

TemporaryFile::TemporaryFile(const std::filesystem::path& destination)
    : destination_(destination), path_(destination) {
  // Moving over a device would replace it.
  std::error_code ignored;
  require_input(!std::filesystem::exists(destination, ignored) ||
                    std::filesystem::is_regular_file(destination, ignored),
                "cannot write {}: not a regular file", destination.string());
  path_ += fmt::format(".{}.tmp", getpid());
  stream_.open(path_, std::ios::binary | std::ios::trunc);
  check(stream_.is_open());
}

TemporaryFile::~TemporaryFile() {
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void TemporaryFile::append(const void* data, std::size_t size) {
  stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  check(stream_.good());
}

void TemporaryFile::move_to_destination() {
  stream_.close();
  check(stream_.good());
  std::error_code error;
  std::filesystem::rename(path_, destination_, error);
  require_input(!error, "cannot write {}: {}", destination_.string(), error.message());
}

void TemporaryFile::check(bool is_good) const {
  require_input(is_good, "cannot write {}: {}", destination_.string(), std::strerror(errno));
}

}  // namespace thinwire
