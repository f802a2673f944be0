#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
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

  const std::filesystem::path& path() const { return file_; }

  /// Ids of records that a restarted sweep need not repeat (ok or skipped), as of opening.
  const std::set<std::string>& finished_ids() const { return finished_ids_; }

  /// The last record of a point, as of opening.
  struct Latest {
    std::string status;
    std::int64_t offset;  ///< in the file
  };
  const Latest* latest(const std::string& id) const;  ///< null when there is none

  /// Appends one record; a truncated last record is cut off first. Safe among processes and
  /// threads. Throws Error when the disk takes less than the whole record (nothing of it stays).
  void append(const Json& record);

 private:
  bool is_stdout() const { return file_ == "-"; }

  std::filesystem::path file_;
  std::string schema_;
  std::set<std::string> finished_ids_;
  std::map<std::string, Latest> latest_;
};

/// Throws InputError unless `file`, the value of `option`, can be written. Writes nothing.
void require_writable(std::string_view option, const std::filesystem::path& file);

/// Appends a record unless one of its id begins at or behind byte `since`; so that a point that
/// fails on several ranks fails once. Does nothing where there is no such file (a rank on a node
/// that does not share it).
void append_unless_there(const std::filesystem::path& file, const Json& record, std::int64_t since);

/// Cuts off what a killed process left of a record that it was writing.
void cut_off_partial_record(const std::filesystem::path& file);

/// Bytes of a file; 0 where there is none.
std::int64_t end_of_records(const std::filesystem::path& file);

/// Throws InputError unless all that a spec asks for can be written: the result file, outputs and
/// timeline. Writes nothing; called before a run, not after it.
void check_places(const RunSpec& spec);

/// All records of a file, for tables. Throws InputError as ResultFile does, and when it is absent.
std::vector<Json> read_records(const std::filesystem::path& file,
                               std::string_view schema = kResultSchema);

}  // namespace thinwire::harness
