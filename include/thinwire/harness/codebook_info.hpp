#pragma once
#include <map>
#include <optional>
#include <string>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/harness/codebook_training.hpp"

namespace thinwire::harness {

/// What `codebook info` is asked for; strategy, devices and groups come from the file's metadata
/// where they are not given.
struct CodebookInfoSpec {
  std::string file, model;
  std::optional<std::string> strategy;
  std::optional<int> devices;
  std::optional<Index> groups;
  std::string input;  ///< empty: storage only
  SampleRange samples;
  Index tokens = 0;
  int threads = 1;
};
CodebookInfoSpec make_info_spec(const std::map<std::string, std::string>& given);

/// {"file", "strategy", "devices", "groups", "codewords", "levels", "exchanges",
///  "storage": {"file_bytes", "codebooks_bytes", "buffers_bytes", "index_tables_bytes",
///              "index_tables_file_bytes"},
///  "calibration_s", "metadata",
///  "index_bits": [{"exchange", "level", "codewords", "fixed", "entropy", "cross_layer"}],
///  "quality": [{"exchange", "level", "codewords", "rows", "used", "perplexity", "distortion"}]}
/// Bits of an index are there when the file has tables, as these expect them. Quality is measured
/// with an input only, on devices of this process. Buffers are calibrated to
/// tell how long that takes.
Json codebook_info(const CodebookInfoSpec& spec);

}  // namespace thinwire::harness
