#include "thinwire/harness/result_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/harness/record.hpp"

namespace thinwire::harness {
namespace {

/// A file descriptor that is closed, and with it unlocked, at the end.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& file, int flags)
      : descriptor_(::open(file.c_str(), flags | O_CLOEXEC, 0644)) {
    TW_REQUIRE(descriptor_ >= 0, "cannot open {}: {}", file.string(), std::strerror(errno));
  }
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() { ::close(descriptor_); }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// True for what is left of a record whose write was cut short: never for a line that something
/// else wrote, which must not be thrown away.
bool is_truncated_record(std::string_view line, std::string_view schema) {
  const std::string start = fmt::format("{{\"schema\":\"{}\"", schema);
  if (!line.starts_with(std::string_view(start).substr(0, line.size()))) return false;
  return !Json::accept(line);
}

struct Content {
  std::vector<Json> records;
  bool ends_truncated = false;
};

Json parse_line(std::string_view line, std::string_view schema, const std::filesystem::path& file,
                std::size_t number) {
  Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  require_input(record.is_object(), "{}, line {}: not a record; choose another file", file.string(),
                number);
  const Json found = record.contains("schema") ? record["schema"] : Json(nullptr);
  require_input(
      found == schema, "{}, line {}: has schema {}, this program writes {}; choose another file",
      file.string(), number, found.is_string() ? found.get<std::string>() : found.dump(), schema);
  return record;
}

Content parse_content(std::string_view text, std::string_view schema,
                      const std::filesystem::path& file) {
  Content content;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool is_last = end == std::string_view::npos;
    if (is_last && is_truncated_record(line, schema))
      content.ends_truncated = true;
    else if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      content.records.push_back(parse_line(line, schema, file, number));
    text.remove_prefix(is_last ? text.size() : end + 1);
  }
  return content;
}

std::string read_text(const std::filesystem::path& file) {
  std::error_code ignored;
  require_input(!std::filesystem::is_directory(file, ignored), "{} is a folder, not a result file",
                file.string());
  std::ifstream stream(file, std::ios::binary);
  require_input(stream.is_open(), "cannot read {}: {}", file.string(), std::strerror(errno));
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

void write_once(int descriptor, std::string_view text, const std::filesystem::path& file,
                off_t size_before) {
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return;
  const std::string why = written < 0 ? std::strerror(errno) : "the disk took only a part of it";
  // What has been written of it would look like a killed run's; leave nothing instead.
  const bool is_clean = ::ftruncate(descriptor, size_before) == 0;
  throw Error(fmt::format("cannot append to {}: {}{}", file.string(), why,
                          is_clean ? "" : " (a truncated record stays)"));
}

/// The text after the last line break; reads backwards, since files grow large.
std::string last_partial_line(int descriptor, off_t size) {
  std::string tail;
  constexpr off_t kBlock = 1 << 16;
  while (size > 0) {
    const off_t begin = std::max<off_t>(0, size - kBlock);
    std::string block(static_cast<std::size_t>(size - begin), '\0');
    const ssize_t count = ::pread(descriptor, block.data(), block.size(), begin);
    TW_REQUIRE(count == static_cast<ssize_t>(block.size()), "cannot read the result file: {}",
               std::strerror(errno));
    const std::size_t line_break = block.rfind('\n');
    if (line_break != std::string::npos) return block.substr(line_break + 1) + tail;
    tail.insert(0, block);
    size = begin;
  }
  return tail;
}

off_t file_size(int descriptor) {
  struct stat status {};
  TW_REQUIRE(::fstat(descriptor, &status) == 0, "cannot look at the result file: {}",
             std::strerror(errno));
  return status.st_size;
}

}  // namespace

ResultFile::ResultFile(std::filesystem::path file, std::string_view schema)
    : file_(std::move(file)), schema_(schema) {
  if (is_stdout()) return;
  require_writable("json", file_);
  // A pipe or a device holds no records; reading it could wait for ever.
  if (std::error_code ignored; std::filesystem::is_regular_file(file_, ignored)) {
    for (const Json& record : parse_content(read_text(file_), schema_, file_).records) {
      const std::string status = record.value("status", "");
      if (status == "ok" || status == "skipped") finished_ids_.insert(record.value("id", ""));
    }
  }
}

void ResultFile::append(const Json& record) {
  std::string line = record.dump();
  line += '\n';
  if (is_stdout()) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    TW_REQUIRE(std::fflush(stdout) == 0, "cannot write to stdout: {}", std::strerror(errno));
    return;
  }
  const Descriptor descriptor(file_, O_RDWR | O_APPEND | O_CREAT);
  TW_REQUIRE(::flock(descriptor.get(), LOCK_EX) == 0, "cannot lock {}: {}", file_.string(),
             std::strerror(errno));
  off_t size = file_size(descriptor.get());
  const std::string tail = last_partial_line(descriptor.get(), size);
  if (is_truncated_record(tail, schema_) && !tail.empty()) {
    size -= static_cast<off_t>(tail.size());
    TW_REQUIRE(::ftruncate(descriptor.get(), size) == 0, "cannot shorten {}: {}", file_.string(),
               std::strerror(errno));
  } else if (!tail.empty()) {
    line = fmt::format("\n{}", line);
  }
  write_once(descriptor.get(), line, file_, size);
}

void require_writable(std::string_view option, const std::filesystem::path& file) {
  std::error_code ignored;
  require_input(!std::filesystem::is_directory(file, ignored),
                "--{}={}: a folder, where a file is needed", option, file.string());
  const bool is_there = std::filesystem::exists(file, ignored);
  const std::filesystem::path place =
      is_there ? file : (file.has_parent_path() ? file.parent_path() : ".");
  require_input(::access(place.c_str(), W_OK) == 0, "--{}={}: cannot be written ({})", option,
                file.string(), std::strerror(errno));
}

void check_places(const RunSpec& spec) {
  if (!spec.json.empty()) const ResultFile readable(spec.json);
  if (!spec.outputs.empty()) require_writable("outputs", spec.outputs);
  if (!spec.trace.empty()) require_writable("trace", spec.trace);
}

std::vector<Json> read_records(const std::filesystem::path& file, std::string_view schema) {
  return parse_content(read_text(file), schema, file).records;
}

}  // namespace thinwire::harness
