#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/harness/fingerprint_cache.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::harness {

/// The codebooks of a point, as far as a file's header says.
struct CodebookChoice {
  std::string source;       ///< base name of the file, or "random"
  std::string fingerprint;  ///< of the set
  std::vector<Index> levels;
};

/// The codebooks that a spec's strategy needs, with the spec's groups and buffers; nothing for
/// strategies without.
std::optional<compress::CodebookUse> codebook_use(const RunSpec& spec);

/// The file or the random numbers that a spec names.
///   model_fingerprint  "": whatever model the file was made for
/// Throws InputError naming file and tensor.
std::unique_ptr<compress::CodebookSource> open_codebooks(const RunSpec& spec,
                                                         const compress::CodebookUse& use,
                                                         const model::ModelConfig& config,
                                                         const std::string& model_fingerprint);

/// Fills codewords, level and active codewords for random codebooks, whose levels follow from K;
/// leaves specs with a file, or without a use for codebooks, as they are.
/// Throws InputError for a level that is not there and for numbers that contradict each other.
void resolve_random_codebook(RunSpec& spec);

/// The same from a codebook file's header; for any spec, before it is run, predicted or identified.
/// Nothing for strategies without codebooks.
std::optional<CodebookChoice> resolve_codebook(RunSpec& spec, const model::ModelConfig& config,
                                               FingerprintCache& fingerprints);

}  // namespace thinwire::harness
