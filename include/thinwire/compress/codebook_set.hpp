#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "thinwire/compress/codebook.hpp"
#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/compress/kv_buffer.hpp"

namespace thinwire::compress {

class IndexTables;

/// A strategy's codebooks and buffers for all exchanges, read-only after construction, held once a
/// node like the model (WeightPlace). Switching the level touches neither.
class CodebookSet {
 public:
  /// Packs the searches, keeps codewords where a receiver dequantises (all but trace-b with kv or
  /// hidden buffers), and calibrates the buffers unless the source brings them. Tables of indices
  /// are read where they are asked for; throws InputError when the source has none.
  CodebookSet(const model::Model& model, const CodebookUse& use, CodebookSource& source,
              model::WeightPlace place, WithIndexTables tables = WithIndexTables::no);
  CodebookSet(CodebookSet&&) noexcept;
  ~CodebookSet();

  const CodebookUse& use() const { return use_; }
  Index codewords() const { return levels_.back(); }
  std::span<const Index> levels() const { return levels_; }
  /// Throws Error for an exchange that is not coded.
  const Codebook& codebook(Index exchange) const;
  /// Throws Error without buffers.
  const KvBuffer& buffer(Index exchange) const;

  bool has_index_tables() const { return !tables_.empty(); }
  /// What frames of an exchange are coded with on `level`, one a group.
  /// Throws Error for a set without, and for an exchange that is not coded.
  std::span<const IndexTables> index_tables(Index exchange, int level) const;

  /// What calibrating took on the rank that wrote; apart from every pass.
  const Operations& calibration_operations() const { return calibration_; }
  double calibration_s() const { return calibration_s_; }

 private:
  void prepare(const model::Model& model, Index exchange, CodebookSource& source,
               model::WeightPlace place);
  void read_tables(Index exchange, CodebookSource& source, model::WeightPlace place);
  void calibrate(const model::Model& model, Index exchange, MatrixView<float> codewords,
                 MatrixView<std::uint16_t> halves);

  CodebookUse use_;
  std::vector<Index> levels_;
  std::vector<std::optional<Codebook>> codebooks_;  // [layers]
  std::vector<std::optional<KvBuffer>> buffers_;    // [layers]
  std::vector<std::vector<IndexTables>> tables_;    // [exchange * levels + level], groups; or empty
  Operations calibration_;
  double calibration_s_ = 0;
};

}  // namespace thinwire::compress
