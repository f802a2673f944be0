#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "thinwire/compress/index_coding.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::compress {

class IndexTables;

/// Collects codebooks for one or several uses and writes them to one file, under the names that
/// open_codebooks reads. Rows stay in the order of the codes; the reader applies the hierarchy.
/// Every function throws Error for something that was added before.
class CodebookWriter {
 public:
  /// codewords [K, hidden / groups]
  void add_codewords(const CodebookUse& use, Index exchange, Index group,
                     MatrixView<const float> codewords);
  /// The sizes of all hierarchies of the file, ascending, the last is K.
  void add_levels(std::span<const Index> levels);
  /// permutation [K], see build_hierarchy; not for astra, whose codebooks have one level.
  void add_hierarchy(const CodebookUse& use, Index exchange,
                     std::span<const std::int32_t> permutation);
  /// fp16 K|V [K, 2 hidden] of the codes: spares the reader the calibration.
  void add_kv(Index exchange, MatrixView<const std::uint16_t> kv);

  /// What indices of an exchange and group are coded with on `level`; not checked.
  void add_index_tables(const CodebookUse& use, Index exchange, Index group, int level,
                        const IndexTables& tables);
  /// What else is in a codebook file, as it is there: all tensors that were not added before.
  void add_rest_of(const SafetensorsFile& file);

  /// The model that the codebooks belong to: with another one the file is refused.
  void set_model_fingerprint(const std::string& fingerprint);
  /// How the file was made, for people.
  void add_metadata(std::string key, std::string value);

  /// Throws InputError when the place cannot be written.
  void write(const std::filesystem::path& file) const { writer_.write(file); }

 private:
  SafetensorsWriter writer_;
};

}  // namespace thinwire::compress
