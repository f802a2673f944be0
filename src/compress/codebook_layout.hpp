#pragma once
#include <string>
#include <string_view>

#include "thinwire/compress/index_coding.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::compress {

// What the tensors of a codebook file are called (ARCHITECTURE 6) and how wide they are: one place
// for whoever reads, writes or draws them.

/// Columns of a group's codewords, hidden / groups. Throws InputError unless that is a whole
/// number.
Index group_width(const model::ModelConfig& config, const CodebookUse& use);

/// The codebook of one exchange and group. Exchange 0 codes embeddings whatever comes later, so
/// that all but ASTRA share its codebook.
std::string codebook_name(const CodebookUse& use, Index exchange, Index group);
/// Its permutation; ASTRA has none.
std::string hierarchy_name(const CodebookUse& use, Index exchange);
std::string key_buffer_name(Index exchange);
std::string value_buffer_name(Index exchange);

/// The words of what indices of one level are coded with.
bool is_index_tables_name(std::string_view name);
std::string index_tables_name(const CodebookUse& use, Index exchange, Index group, int level);

inline constexpr const char* kLevelsName = "hierarchy.levels";
inline constexpr const char* kModelFingerprintKey = "model_fingerprint";

}  // namespace thinwire::compress
