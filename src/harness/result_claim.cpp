#include "thinwire/harness/result_claim.hpp"

#include "locked_file.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/result_file.hpp"

namespace thinwire::harness {
namespace {

/// The ranks of a killed job are gone by then.
constexpr std::chrono::seconds kPatience{10};

std::unique_ptr<LockedFile> locked(const std::filesystem::path& file, LockedFile::Part part,
                                   std::chrono::milliseconds patience) {
  std::unique_ptr<LockedFile> lock;
  try {
    lock = std::make_unique<LockedFile>(file, part, patience);
  } catch (const Error& error) {
    throw InputError(fmt::format("--json={}: {}", file.string(), error.what()));
  }
  require_input(lock->is_locked(),
                "--json={}: another sweep, run or predict is writing this file (wait for its end, "
                "or choose another file)",
                file.string());
  return lock;
}

}  // namespace

ResultClaim::ResultClaim(const std::filesystem::path& file, Holder holder) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(file, ignored);
  if (file == "-" || (exists(status) && !is_regular_file(status))) return;
  using Part = LockedFile::Part;
  if (holder != Holder::job) sweep_ = locked(file, Part::sweep, {});
  if (holder != Holder::supervisor) writer_ = locked(file, Part::writer, kPatience);
  cut_off_partial_record(file);
}

ResultClaim::~ResultClaim() = default;

}  // namespace thinwire::harness
