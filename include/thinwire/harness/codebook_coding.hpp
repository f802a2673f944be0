#pragma once
#include <map>
#include <optional>
#include <string>

#include "thinwire/harness/codebook_training.hpp"
#include "thinwire/harness/session.hpp"

namespace thinwire::harness {

/// What `codebook coding` is asked for; strategy, devices and groups come from the file's metadata
/// where they are not given.
struct CodebookCodingSpec {
  std::string file, model, input;
  SampleRange samples;
  Index tokens = 0;  ///< of a window of bytes; 0: as many as the model's position table
  std::optional<std::string> strategy;
  std::optional<int> devices;
  std::optional<Index> groups;
  int threads = 1;
  std::string out;  ///< `file` itself unless given
};
CodebookCodingSpec make_coding_spec(const std::map<std::string, std::string>& given);

/// Adds what --index-coding needs to a codebook file (training does so by itself): tables of how
/// often indices occur and follow each other in these samples. Collective over all ranks of the
/// session. Throws InputError for files, samples and uses that cannot be.
void add_index_coding(Session& session, const CodebookCodingSpec& spec);

}  // namespace thinwire::harness
