#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "support/temporary_folder.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::fuzz {

/// The file through which inputs reach a parser that takes a path. One for all inputs of a process:
/// making a folder for each would take longer than parsing.
class InputFile {
 public:
  explicit InputFile(const std::string& name) : path_(folder_ / name) {}

  /// Replaces the content.
  const std::filesystem::path& write(std::string_view content) const {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool is_written =
        file >= 0 && ::write(file, content.data(), content.size()) == std::ssize(content);
    ::close(file);
    if (!is_written) throw Error("cannot write " + path_.string());
    return path_;
  }

 private:
  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace thinwire::fuzz
