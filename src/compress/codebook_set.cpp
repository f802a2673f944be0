#include "thinwire/compress/codebook_set.hpp"

#include <chrono>
#include <utility>

#include "thinwire/compress/index_tables.hpp"
#include "thinwire/tensor/half.hpp"

namespace thinwire::compress {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Matrix<float> shape_only(Index rows, Index cols) {
  // Pages that nobody touches cost nothing.
  return {rows, cols, std::pmr::new_delete_resource(), Matrix<float>::Fill::none};
}

/// The codewords of an exchange, one matrix a group; without contents on a rank that attaches.
std::vector<Matrix<float>> read_groups(CodebookSource& source, Index exchange,
                                       const CodebookUse& use, Index hidden, ops::Packing packing) {
  std::vector<Matrix<float>> groups;
  groups.reserve(static_cast<std::size_t>(use.groups));
  const Index width = hidden / use.groups;
  for (Index group = 0; group < use.groups; ++group) {
    groups.push_back(packing == ops::Packing::write ? source.values(exchange, group)
                                                    : shape_only(source.codewords(), width));
    const Matrix<float>& read = groups.back();
    TW_REQUIRE(read.rows() == source.codewords() && read.cols() == width,
               "codewords of [{}, {}] for [{}, {}]", read.rows(), read.cols(), source.codewords(),
               width);
  }
  return groups;
}

/// Rounded once, to nearest.
void store(MatrixView<const float> values, MatrixView<std::uint16_t> halves) {
#pragma omp parallel for schedule(static)
  for (Index row = 0; row < values.rows(); ++row)
    floats_to_halves(values.row(row), halves.row(row));
}

}  // namespace

CodebookSet::CodebookSet(const model::Model& model, const CodebookUse& use, CodebookSource& source,
                         model::WeightPlace place, WithIndexTables tables)
    : use_(use),
      levels_(source.levels()),
      codebooks_(static_cast<std::size_t>(model.config().layers)),
      buffers_(codebooks_.size()) {
  TW_REQUIRE(use.buffers == Buffers::off || use.published == Published::residual,
             "buffers of what no residual was added to");
  // Every rank of a node asks `place` for the same sizes in this order.
  for (Index exchange = 0; exchange < model.config().layers; ++exchange)
    if (use.codes(exchange)) prepare(model, exchange, source, place);
  if (tables == WithIndexTables::no) return;
  tables_.resize(codebooks_.size() * levels_.size());
  for (Index exchange = 0; exchange < model.config().layers; ++exchange)
    if (use.codes(exchange)) read_tables(exchange, source, place);
}

CodebookSet::CodebookSet(CodebookSet&&) noexcept = default;
CodebookSet::~CodebookSet() = default;

void CodebookSet::read_tables(Index exchange, CodebookSource& source, model::WeightPlace place) {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    std::vector<IndexTables>& groups =
        tables_[static_cast<std::size_t>(exchange) * levels_.size() + level];
    groups.reserve(static_cast<std::size_t>(use_.groups));
    for (Index group = 0; group < use_.groups; ++group)
      groups.emplace_back(source.index_tables(exchange, group, static_cast<int>(level)),
                          levels_[level], codewords(), place);
  }
}

void CodebookSet::prepare(const model::Model& model, Index exchange, CodebookSource& source,
                          model::WeightPlace place) {
  const Index hidden = model.config().hidden;
  std::vector<Matrix<float>> groups = read_groups(source, exchange, use_, hidden, place.packing);
  codebooks_[static_cast<std::size_t>(exchange)].emplace(
      groups, use_.is_squared() ? ops::Similarity::squared : ops::Similarity::cosine, levels_,
      use_.buffers == Buffers::off ? Dequantise::yes : Dequantise::no, place);
  if (use_.buffers == Buffers::off) return;
  const Index width = use_.buffers == Buffers::kv ? 2 * hidden : hidden;
  KvBuffer& buffer =
      buffers_[static_cast<std::size_t>(exchange)].emplace(codewords(), width, place.memory);
  if (place.packing == ops::Packing::attach) return;
  const Matrix<std::uint16_t> given =
      use_.buffers == Buffers::kv ? source.kv(exchange) : Matrix<std::uint16_t>();
  if (given.rows() > 0)
    copy(given.view(), buffer.halves());
  else
    calibrate(model, exchange, groups.front().view(), buffer.halves());
}

void CodebookSet::calibrate(const model::Model& model, Index exchange, MatrixView<float> codewords,
                            MatrixView<std::uint16_t> halves) {
  const auto start = std::chrono::steady_clock::now();
  finish_codewords(model, exchange, codewords, calibration_);
  if (use_.buffers == Buffers::kv)
    store(project_codewords(model, exchange, codewords, calibration_).view(), halves);
  else
    store(codewords, halves);
  calibration_s_ += seconds_since(start);
}

const Codebook& CodebookSet::codebook(Index exchange) const {
  TW_REQUIRE(exchange >= 0 && exchange < std::ssize(codebooks_) &&
                 codebooks_[static_cast<std::size_t>(exchange)].has_value(),
             "exchange {} is not coded", exchange);
  return *codebooks_[static_cast<std::size_t>(exchange)];
}

std::span<const IndexTables> CodebookSet::index_tables(Index exchange, int level) const {
  TW_REQUIRE(has_index_tables(), "codebooks without tables of indices");
  TW_REQUIRE(exchange >= 0 && exchange < std::ssize(codebooks_) && use_.codes(exchange) &&
                 level >= 0 && level < std::ssize(levels_),
             "exchange {} on level {} is not coded", exchange, level);
  return tables_[static_cast<std::size_t>(exchange) * levels_.size() +
                 static_cast<std::size_t>(level)];
}

const KvBuffer& CodebookSet::buffer(Index exchange) const {
  TW_REQUIRE(exchange >= 0 && exchange < std::ssize(buffers_) &&
                 buffers_[static_cast<std::size_t>(exchange)].has_value(),
             "exchange {} has no buffer (buffers={})", exchange, to_string(use_.buffers));
  return *buffers_[static_cast<std::size_t>(exchange)];
}

}  // namespace thinwire::compress
