#include "thinwire/compress/codebook_writer.hpp"

#include <utility>
#include <vector>

#include "codebook_layout.hpp"
#include "thinwire/compress/index_tables.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {
namespace {

template <class T>
void add_matrix(SafetensorsWriter& writer, std::string name, MatrixView<const T> values) {
  Matrix<T> dense(values.rows(), values.cols());
  copy(values, dense.view());
  writer.add(std::move(name), {values.rows(), values.cols()},
             std::span<const T>(dense.view().elements()));
}

}  // namespace

void CodebookWriter::add_codewords(const CodebookUse& use, Index exchange, Index group,
                                   MatrixView<const float> codewords) {
  add_matrix(writer_, codebook_name(use, exchange, group), codewords);
}

void CodebookWriter::add_levels(std::span<const Index> levels) {
  const std::vector<std::int32_t> sizes(levels.begin(), levels.end());
  writer_.add(kLevelsName, {std::ssize(sizes)}, std::span<const std::int32_t>(sizes));
}

void CodebookWriter::add_hierarchy(const CodebookUse& use, Index exchange,
                                   std::span<const std::int32_t> permutation) {
  writer_.add(hierarchy_name(use, exchange), {std::ssize(permutation)}, permutation);
}

void CodebookWriter::add_kv(Index exchange, MatrixView<const std::uint16_t> kv) {
  TW_REQUIRE(kv.cols() % 2 == 0, "K|V of {} columns", kv.cols());
  const Index hidden = kv.cols() / 2;
  add_matrix(writer_, key_buffer_name(exchange), kv.cols(0, hidden));
  add_matrix(writer_, value_buffer_name(exchange), kv.cols(hidden, hidden));
}

void CodebookWriter::add_index_tables(const CodebookUse& use, Index exchange, Index group,
                                      int level, const IndexTables& tables) {
  const std::span<const std::uint16_t> words = tables.words();
  writer_.add_raw(index_tables_name(use, exchange, group, level), "U16", {std::ssize(words)},
                  std::as_bytes(words));
}

void CodebookWriter::add_rest_of(const SafetensorsFile& file) {
  for (const auto& [name, tensor] : file.tensors())
    if (!writer_.has(name)) writer_.add_raw(name, tensor.type_name, tensor.shape, tensor.bytes);
  for (const auto& [key, value] : file.metadata()) writer_.add_metadata(key, value);
}

void CodebookWriter::set_model_fingerprint(const std::string& fingerprint) {
  writer_.add_metadata(kModelFingerprintKey, fingerprint);
}

void CodebookWriter::add_metadata(std::string key, std::string value) {
  writer_.add_metadata(std::move(key), std::move(value));
}

}  // namespace thinwire::compress
