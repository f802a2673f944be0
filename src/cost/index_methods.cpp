#include <algorithm>
#include <cmath>

#include "schedule.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/family.hpp"
#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/work.hpp"

namespace thinwire::cost {
namespace {

using compress::Buffers;
using compress::CodebookUse;
using compress::Published;

constexpr std::int64_t kBytesPerHalf = 2;

void check_codebook(const Workload& workload, const CodebookUse& use) {
  const Index codewords = workload.codewords, active = workload.active_codewords;
  require_input(codewords >= 2 && codewords <= 65536,
                "codewords={}: a codebook has from 2 to 65536 codewords", codewords);
  require_input(active == 0 || (active >= 2 && active <= codewords),
                "active-codewords={}: a level has from 2 codewords to all codewords={}", active,
                codewords);
  require_input(use.groups >= 1 && workload.model.hidden % use.groups == 0,
                "groups={}: the groups of a codebook are equal, and model {} has hidden={}",
                use.groups, workload.model.name, workload.model.hidden);
}

/// Codewords of all levels together: each level's search is packed on its own.
Index searched_codewords(const Workload& workload, const CodebookUse& use) {
  if (use.is_squared()) return workload.codewords;  // ASTRA has no hierarchy
  Index sum = 0;
  if (!workload.levels.empty()) {
    for (const Index size : workload.levels) sum += size;
    return sum;
  }
  for (const Index size : {2, 4, 8, 32})
    if (size < workload.codewords) sum += size;
  return sum + workload.codewords;
}

/// Scores of a block of at most 128 rows, whole cache lines of them, and a dense copy of the block.
Index search_scratch(Index rows, Index width, Index codewords) {
  constexpr Index kMostRows = 128, kValuesPerLine = 16;
  const Index blocks = (rows + kMostRows - 1) / kMostRows;
  const Index block = (rows + blocks - 1) / blocks;
  const Index lines = (block * codewords + kValuesPerLine - 1) / kValuesPerLine;
  return lines * kValuesPerLine + block * width;
}

/// The methods that send indices into codebooks: astra and the trace family (METHODS 3.2, 3.3).
class IndexMethod final : public FamilyMethod {
 public:
  IndexMethod(const Workload& workload, CodebookUse use, std::span<const Share> shares)
      : workload_(workload), use_(use) {
    check_codebook(workload, use_);
    for (const Share& sender : shares) received_bytes_ += longest_frame(sender.own).bytes();
  }

  Published published() const override { return use_.published; }
  bool overlaps_by_default() const override { return is_trace(); }
  Index columns(const Share& share) const override { return share.tokens(); }

  compress::FrameSize payload(Index exchange, const Share& share) const override {
    if (!use_.codes(exchange)) return rows_payload(share.own, model().hidden);
    const compress::IndexCoding coding =
        compress::coding_of(workload_.index_coding, use_, exchange, workload_.has_terminal);
    return coding == compress::IndexCoding::fixed ? frame(share.own)
                                                  : coded_frame(exchange, share.own);
  }
  Operations encode(Index exchange, const Share& share) const override {
    if (!use_.codes(exchange)) return {};
    const Index width = model().hidden / use_.groups;
    const Behind behind = use_.is_squared() ? Behind::bias : Behind::nothing;
    return linear_work(share.own * use_.groups, width, active_codewords(), behind);
  }
  Operations decode(Index layer, const Share& share) const override;
  Operations calibration() const override;
  double nominal_bits(Index exchange) const override;
  Memory tables() const override;
  std::int64_t workspace_bytes(const Share& share) const override;

 private:
  const model::ModelConfig& model() const { return workload_.model; }
  bool is_trace() const { return use_.published != Published::block_output; }
  bool has_buffers() const {
    return use_.published == Published::residual && use_.buffers != Buffers::off;
  }
  bool looks_up_kv() const { return has_buffers() && use_.buffers == Buffers::kv; }
  /// The receiver runs the second half of a block on what the indices stand for.
  bool finishes_remote_rows() const { return is_trace() && !has_buffers(); }
  bool keeps_remote_state() const { return use_.published == Published::attention_output; }
  /// trace-nb and trace-1b go on with the states that they know.
  bool reuses_indices() const {
    return workload_.on_loss == fabric::OnLoss::reuse && !keeps_remote_state();
  }
  Index active_codewords() const {
    return workload_.active_codewords > 0 ? workload_.active_codewords : workload_.codewords;
  }
  int index_bits() const {
    constexpr int kWideBits = 16;
    const bool is_wide = !is_trace() && workload_.index_bits == compress::IndexBits::wide;
    return is_wide ? kWideBits : compress::index_bits(active_codewords());
  }
  compress::FrameSize frame(Index rows) const {
    return compress::frame_size(rows * use_.groups, index_bits(), is_trace());
  }
  /// A coded frame has a header, whatever the method, and never more bits than a fixed one with it.
  compress::FrameSize longest_frame(Index rows) const {
    const bool has_header = is_trace() || workload_.index_coding != compress::IndexCoding::fixed;
    return compress::frame_size(rows * use_.groups, index_bits(), has_header);
  }
  compress::FrameSize coded_frame(Index exchange, Index rows) const;
  Index coded_exchanges() const { return model().layers - (use_.codes_first_exchange ? 0 : 1); }

  const Workload& workload_;
  CodebookUse use_;
  std::int64_t received_bytes_ = 0;  ///< frames of all devices
};

/// What its tables expect of it, else its longest.
compress::FrameSize IndexMethod::coded_frame(Index exchange, Index rows) const {
  if (workload_.expected_index_bits.empty()) return longest_frame(rows);
  return compress::expected_frame_size(
      rows * use_.groups, index_bits(),
      workload_.expected_index_bits.at(static_cast<std::size_t>(exchange)));
}

Operations IndexMethod::decode(Index layer, const Share& share) const {
  const Index remote = share.remote;
  if (looks_up_kv() && use_.codes(layer)) return {};
  Operations work = project_remote_work(model(), remote);
  if (layer == 0 || !finishes_remote_rows()) return work;  // codewords, or raw rows, of block 0
  if (keeps_remote_state()) work += attention_norm_work(model(), remote);
  return work + finish_work(model(), remote);
}

Operations IndexMethod::calibration() const {
  Operations work;
  if (!has_buffers()) return work;
  for (Index exchange = 0; exchange < model().layers; ++exchange) {
    if (!use_.codes(exchange)) continue;
    if (exchange > 0) work += finish_work(model(), workload_.codewords);
    if (looks_up_kv()) work += project_remote_work(model(), workload_.codewords);
  }
  return work;
}

double IndexMethod::nominal_bits(Index exchange) const {
  const Index devices = workload_.devices, tokens = workload_.tokens;
  if (!use_.codes(exchange))
    return 32 * static_cast<double>(model().hidden) *
           (static_cast<double>(tokens) / static_cast<double>(devices));
  const Index coded = tokens - (workload_.replicates_class_token ? 1 : 0);
  const Index rows = (coded + devices - 1) / devices;
  const Index header_bits = is_trace() ? 8 : 0;
  return static_cast<double>(rows * use_.groups * index_bits() + header_bits);
}

Memory IndexMethod::tables() const {
  const Index codewords = workload_.codewords, hidden = model().hidden;
  const Index searched = searched_codewords(workload_, use_);
  const Index biases = use_.is_squared() ? searched * use_.groups : 0;
  const Index dequantised = has_buffers() ? 0 : codewords * hidden;
  const Index buffered = has_buffers() ? codewords * hidden * (looks_up_kv() ? 2 : 1) : 0;
  return {
      .codebooks = coded_exchanges() * kBytesPerValue * (searched * hidden + biases + dequantised) +
                   workload_.index_tables_bytes,
      .buffers = coded_exchanges() * kBytesPerHalf * buffered};
}

std::int64_t IndexMethod::workspace_bytes(const Share& share) const {
  const Index own = share.own, remote = share.remote, hidden = model().hidden;
  const bool is_pre_norm = model().norm_order() == model::NormOrder::pre;
  Index values = 2 * remote;  // log g and position of every remote column
  // Indices: those of two exchanges before, too, where they tell about the next.
  const bool keeps_earlier = workload_.index_coding == compress::IndexCoding::cross_layer;
  values += (own + remote) * use_.groups * (keeps_earlier ? 3 : 1);
  values += search_scratch(own, hidden / use_.groups, active_codewords());
  if (!use_.codes_first_exchange) values += (own + remote) * hidden;  // raw rows as they arrive
  const bool rows_pass_through = !looks_up_kv() || !use_.codes_first_exchange;
  if (rows_pass_through) values += remote * hidden;
  if (finishes_remote_rows()) {
    values += remote * model().ffn;
    if (is_pre_norm || keeps_remote_state()) values += remote * hidden;  // normalised, codewords
  }
  std::int64_t bytes = longest_frame(own).bytes() + received_bytes_;
  bytes += lost_rows_bytes(workload_.on_loss, remote);
  if (reuses_indices()) {
    values += model().layers * active_codewords() * use_.groups;  // successors
    values += remote * use_.groups;                               // indices as last known,
    bytes += remote;                                              // and whether they are
  }
  return kBytesPerValue * values + bytes;
}

/// Null for one device: it needs no codebook.
MethodPtr make_index_method(const Workload& workload, const CodebookUse& use,
                            std::span<const Share> shares) {
  if (workload.devices == 1) return nullptr;
  return std::make_unique<IndexMethod>(workload, use, shares);
}

}  // namespace

MethodPtr make_astra(const Workload& workload, std::span<const Share> shares) {
  const CodebookUse use{.published = Published::block_output, .groups = workload.groups};
  return make_index_method(workload, use, shares);
}

MethodPtr make_trace_b(const Workload& workload, std::span<const Share> shares) {
  const CodebookUse use{.buffers = workload.buffers};
  return make_index_method(workload, use, shares);
}

MethodPtr make_trace_2a(const Workload& workload, std::span<const Share> shares) {
  const CodebookUse use{.codes_first_exchange = false, .buffers = workload.buffers};
  return make_index_method(workload, use, shares);
}

MethodPtr make_trace_nb(const Workload& workload, std::span<const Share> shares) {
  const CodebookUse use{.published = Published::attention_output, .codes_first_exchange = false};
  return make_index_method(workload, use, shares);
}

MethodPtr make_trace_1b(const Workload& workload, std::span<const Share> shares) {
  const CodebookUse use{.published = Published::attention_output};
  return make_index_method(workload, use, shares);
}

}  // namespace thinwire::cost
