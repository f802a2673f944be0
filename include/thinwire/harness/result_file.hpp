#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/harness/record.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// A .jsonl file of records of one schema, or stdout ("-"). Records are only ever appended, each
/// with one write, so that a killed process leaves whole records and at most one truncated last
/// line, and several processes can share a file.
class ResultFile {
 public:
  /// Reads what is there; writes nothing yet.
  /// Throws InputError when the file cannot be used: not readable or writable, not lines of JSON,
  /// or records of another schema. A truncated last record is forgiven.
  explicit ResultFile(std::filesystem::path file, std::string_view schema = kResultSchema);

  /// Ids of records that a restarted sweep need not repeat (ok or skipped), as of opening.
  const std::set<std::string>& finished_ids() const { return finished_ids_; }

  /// Appends one record; a truncated last record is cut off first. Safe among processes and
  /// threads. Throws Error when the disk takes less than the whole record (nothing of it stays).
  void append(const Json& record);

 private:
  bool is_stdout() const { return file_ == "-"; }

  std::filesystem::path file_;
  std::string schema_;
  std::set<std::string> finished_ids_;
};

/// Throws InputError unless `file`, the value of `option`, can be written. Writes nothing.
void require_writable(std::string_view option, const std::filesystem::path& file);

/// Throws InputError unless all that a spec asks for can be written: the result file, outputs and
/// timeline. Writes nothing; called before a run, not after it.
void check_places(const RunSpec& spec);

/// All records of a file, for tables. Throws InputError as ResultFile does, and when it is absent.
std::vector<Json> read_records(const std::filesystem::path& file,
                               std::string_view schema = kResultSchema);

}  // namespace thinwire::harness
