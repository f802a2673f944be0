#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "thinwire/compress/index_coding.hpp"
#include "thinwire/model/model_config.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {

/// Whether what frames are coded with is meant, too (IndexCoding other than fixed).
enum class WithIndexTables { no, yes };

/// Where a set of codebooks comes from: a file, random numbers, or training.
class CodebookSource {
 public:
  virtual ~CodebookSource() = default;
  /// K, the same for every exchange and group.
  virtual Index codewords() const = 0;
  /// Level sizes, ascending, the last is K.
  virtual std::vector<Index> levels() const = 0;
  /// [K, hidden / groups], rows in the order of the positions that are sent (the hierarchy's
  /// permutation is applied). Throws InputError that names a missing or misshapen tensor.
  virtual Matrix<float> values(Index exchange, Index group) = 0;
  /// fp16 K|V [K, 2 hidden] in the same order, where the source brings them; else empty.
  virtual Matrix<std::uint16_t> kv(Index /*exchange*/) { return {}; }
  /// Whether there are index_tables() for all exchanges, groups and levels.
  virtual bool has_index_tables() const { return false; }
  /// IndexTables::words() of what frames of that exchange and group are coded with on `level`.
  /// Throws InputError that names what is missing or no table.
  virtual std::vector<std::uint16_t> index_tables(Index /*exchange*/, Index /*group*/,
                                                  int /*level*/) {
    return {};
  }
  /// Identifies the set, 16 hexadecimal digits; its tables of indices, which change no answer, only
  /// in the second.
  virtual std::string fingerprint() const = 0;
  virtual std::string fingerprint_with_tables() const { return fingerprint(); }
};

/// A codebook file (ARCHITECTURE 6: codebook.<l>, hierarchy.<l>, hierarchy.levels, nb.*, astra.*,
/// buffer.k|v.<l>, coding.*). Opening reads the header and checks shapes against `config`; values
/// are read when asked for. `model_fingerprint`: of the model in use; "" skips the check. Throws
/// InputError naming file and tensor: what is missing, misshapen, not a permutation, or made for
/// another model.
std::unique_ptr<CodebookSource> open_codebooks(const std::filesystem::path& file,
                                               const model::ModelConfig& config,
                                               const CodebookUse& use,
                                               const std::string& model_fingerprint);

/// Seeded random codewords, for timing without training: default levels, identity permutation.
/// Throws InputError unless 2 <= codewords <= 65536 and groups divides hidden.
std::unique_ptr<CodebookSource> random_codebooks(const model::ModelConfig& config,
                                                 const CodebookUse& use, Index codewords,
                                                 std::uint64_t seed);

}  // namespace thinwire::compress
