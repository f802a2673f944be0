#pragma once
#include <filesystem>

#include "thinwire/harness/session.hpp"
#include "thinwire/train/trainer.hpp"

namespace thinwire::harness {

/// Codebooks of a file, as a strategy uses them.
struct UsedCodebooks {
  train::CalibrationSetting setting;
  compress::CodebookUse use;
};

struct FromTo {
  std::filesystem::path from, to;
};

/// Counts what devices send of `samples` with the codebooks of files.from, and writes files.to: the
/// same with tables of indices. With progress on stderr. Collective over all ranks of the session.
void add_index_tables(Session& session, const Point& point, const UsedCodebooks& codebooks,
                      const train::SampleSource& samples, const FromTo& files);

}  // namespace thinwire::harness
