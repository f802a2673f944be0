#pragma once
#include <map>
#include <optional>
#include <string>

#include "thinwire/train/calibration_run.hpp"

namespace thinwire::harness {

/// What a command on a codebook file is told about its use; the file's metadata say the rest.
struct GivenSetting {
  std::optional<std::string> strategy;
  std::optional<int> devices;
  std::optional<Index> groups;
  int threads = 1;
};

/// How a codebook file is used, and how it was made.
struct FileSetting {
  train::CalibrationSetting setting;
  compress::CodebookUse use;
  std::map<std::string, std::string, std::less<>> metadata;
};

/// What is given, else what the file says about itself, else what most files are. Throws InputError
/// for no file, or a use that cannot be.
FileSetting setting_of_file(const std::string& file, const GivenSetting& given);

}  // namespace thinwire::harness
