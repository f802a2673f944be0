#include "thinwire/harness/result_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "locked_file.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/record.hpp"

namespace thinwire::harness {
namespace {

/// True for what is left of a record whose write was cut short: never for a line that something
/// else wrote, which must not be thrown away.
bool is_truncated_record(std::string_view line, std::string_view schema) {
  const std::string start = fmt::format("{{\"schema\":\"{}\"", schema);
  if (!line.starts_with(std::string_view(start).substr(0, line.size()))) return false;
  return !Json::accept(line);
}

struct Content {
  std::vector<Json> records;
  std::vector<std::int64_t> offsets;  // where each begins
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

/// A truncated last record is left out.
Content parse_content(std::string_view text, std::string_view schema,
                      const std::filesystem::path& file) {
  Content content;
  std::int64_t offset = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool is_last = end == std::string_view::npos;
    const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (!is_blank && !(is_last && is_truncated_record(line, schema))) {
      content.records.push_back(parse_line(line, schema, file, number));
      content.offsets.push_back(offset);
    }
    const std::size_t length = is_last ? text.size() : end + 1;
    offset += static_cast<std::int64_t>(length);
    text.remove_prefix(length);
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
  const std::string why = written < 0 ? std::strerror(errno) : "no room for the whole record";
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

/// Cuts off a truncated last record of a locked file; returns whether a whole one lacks its line
/// break.
bool mend_end(const LockedFile& locked, std::string_view schema,
              const std::filesystem::path& file) {
  const off_t size = file_size(locked.descriptor());
  const std::string tail = last_partial_line(locked.descriptor(), size);
  if (tail.empty() || !is_truncated_record(tail, schema)) return !tail.empty();
  TW_REQUIRE(::ftruncate(locked.descriptor(), size - static_cast<off_t>(tail.size())) == 0,
             "cannot shorten {}: {}", file.string(), std::strerror(errno));
  return false;
}

/// An append takes milliseconds; whoever holds this lock longer was stopped while he wrote.
LockedFile lock_for_append(const std::filesystem::path& file) {
  return {file, LockedFile::Part::append, std::chrono::minutes(1)};
}

void append_line(const LockedFile& locked, const Json& record, const std::filesystem::path& file) {
  TW_REQUIRE(locked.is_locked(), "cannot append to {}: another process keeps it locked",
             file.string());
  const bool lacks_line_break = mend_end(locked, record.at("schema").get<std::string>(), file);
  const std::string line = fmt::format("{}{}\n", lacks_line_break ? "\n" : "", record.dump());
  write_once(locked.descriptor(), line, file, file_size(locked.descriptor()));
}

bool is_regular(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored);
}

}  // namespace

ResultFile::ResultFile(std::filesystem::path file, std::string_view schema)
    : file_(std::move(file)), schema_(schema) {
  if (is_stdout()) return;
  require_writable("json", file_);
  // A pipe or a device holds no records; reading it could wait for ever.
  if (!is_regular(file_)) return;
  const Content content = parse_content(read_text(file_), schema_, file_);
  for (std::size_t i = 0; i < content.records.size(); ++i) {
    const std::string status = content.records[i].value("status", "");
    const std::string id = content.records[i].value("id", "");
    if (status == "ok" || status == "skipped") finished_ids_.insert(id);
    latest_[id] = {status, content.offsets[i]};
  }
}

const ResultFile::Latest* ResultFile::latest(const std::string& id) const {
  const auto found = latest_.find(id);
  return found == latest_.end() ? nullptr : &found->second;
}

void ResultFile::append(const Json& record) {
  if (!is_stdout()) return append_line(lock_for_append(file_), record, file_);
  const std::string line = record.dump() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  TW_REQUIRE(std::fflush(stdout) == 0, "cannot write to stdout: {}", std::strerror(errno));
}

void append_unless_there(const std::filesystem::path& file, const Json& record,
                         std::int64_t since) {
  if (!is_regular(file)) return;
  const LockedFile locked = lock_for_append(file);
  const Content content = parse_content(read_text(file), kResultSchema, file);
  for (std::size_t i = 0; i < content.records.size(); ++i)
    if (content.offsets[i] >= since && content.records[i].value("id", "") == record.at("id"))
      return;
  append_line(locked, record, file);
}

void cut_off_partial_record(const std::filesystem::path& file) {
  mend_end(lock_for_append(file), kResultSchema, file);
}

std::int64_t end_of_records(const std::filesystem::path& file) {
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(file, ignored);
  return ignored ? 0 : static_cast<std::int64_t>(size);
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
