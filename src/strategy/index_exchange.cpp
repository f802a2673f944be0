#include "thinwire/strategy/index_exchange.hpp"

#include <algorithm>

#include "thinwire/strategy/trace_format.hpp"

namespace thinwire::strategy {
namespace {

/// Most of what any layout needs, as `of` says.
template <class Of>
Index most(std::span<const Layout> layouts, Of&& of) {
  Index result = 0;
  for (const Layout& layout : layouts) result = std::max(result, of(layout));
  return result;
}

Index published_tokens(const Layout& layout) {
  return layout.tokens() - layout.replicated;
}

/// Position among the peers' tokens, in order -> global position.
Index remote_position(const Layout& layout, Index row) {
  const Index position = layout.replicated + row;
  return position < layout.local().begin ? position : position + layout.local_tokens();
}

Index scratch_for(const compress::CodebookSet& codebooks, const model::Model& model, int level,
                  std::span<const Layout> layouts) {
  const Index rows = most(layouts, [](const Layout& layout) { return layout.local_tokens(); });
  Index floats = 0;
  for (Index e = 0; e < model.config().layers; ++e)
    if (codebooks.use().codes(e))
      floats = std::max(floats, codebooks.codebook(e).scratch_floats(rows, level));
  return floats;
}

}  // namespace

int chosen_level(const StrategyOptions& options, const compress::CodebookSet& codebooks) {
  const int levels = static_cast<int>(codebooks.levels().size());
  require_input(options.level >= -1 && options.level < levels,
                "level={} of codebooks with {} levels: choose 0 (the coarsest) to {}",
                options.level, levels, levels - 1);
  TW_REQUIRE(options.level == -1 || options.level_control == LevelControl::fixed,
             "level {} is given where a controller chooses it", options.level);
  return options.level == -1 ? levels - 1 : options.level;
}

IndexExchange::IndexExchange(const model::Model& model, const DeviceRole& role,
                             const StrategyOptions& options, int level,
                             compress::FrameFormat format, std::span<const Layout> layouts)
    : model_(model),
      codebooks_(*options.codebooks),
      most_(format),
      level_(level),
      format_(format),
      coding_(options.index_coding),
      has_terminal_(options.io == Io::terminal),
      remote_(most_remote_tokens(layouts), role.memory),
      lost_(role.memory) {
  if (options.level_control != LevelControl::fixed)
    levels_.emplace(options.level_control, codebooks_, model.config().layers, role.devices);
  const Index groups = codebooks_.use().groups, last = model.config().layers - 1;
  const Index exchanges = coding_ == compress::IndexCoding::cross_layer ? 3 : 1;
  // No frame is longer than those of the last exchange.
  const auto all_frames = [&](const Layout& layout) {
    Index bytes = 0;
    for (const Slice& slice : layout.slices) bytes += frame_bytes(last, slice.size);
    return bytes;
  };
  const Index own = most(layouts, [](const Layout& layout) { return layout.local_tokens(); });
  const Index raw = codebooks_.use().codes(0) ? 0 : most(layouts, published_tokens);
  own_indices_ = Matrix<std::int32_t>(exchanges, own * groups, role.memory);
  remote_indices_ =
      Matrix<std::int32_t>(exchanges, most_remote_tokens(layouts) * groups, role.memory);
  scores_ = Matrix<float>(1, scratch_for(codebooks_, model, level, layouts), role.memory);
  frame_ = Matrix<std::byte>(1, frame_bytes(last, own), role.memory);
  frames_ = Matrix<std::byte>(1, most(layouts, all_frames), role.memory);
  raw_ = Matrix<float>(raw, model.config().hidden, role.memory);
}

void IndexExchange::begin(const Layout& layout, const model::ModelInput& input,
                          Observer* observer) {
  layout_ = &layout;
  observer_ = observer;
  remote_.describe(layout.remote_tokens(), input,
                   [&layout](Index row) { return remote_position(layout, row); });
  if (is_known_.cols() > 0) std::ranges::fill(is_known_.view().row(0), std::uint8_t{0});
}

compress::IndexCoding IndexExchange::coding_of(Index exchange) const {
  return compress::coding_of(coding_, codebooks_.use(), exchange, has_terminal_);
}

std::span<const compress::IndexTables> IndexExchange::tables(Index exchange, int level) const {
  if (coding_of(exchange) == compress::IndexCoding::fixed) return {};
  return codebooks_.index_tables(exchange, level);
}

std::int64_t IndexExchange::frame_bytes(Index exchange, Index rows) const {
  return compress::worst_frame_bytes(rows * codebooks_.use().groups, most_, coding_of(exchange));
}

std::int64_t IndexExchange::payload_bytes(Index exchange, int device) const {
  const Index rows = layout_->slices[static_cast<std::size_t>(device)].size;
  if (codebooks_.use().codes(exchange)) return frame_bytes(exchange, rows);
  return rows * model_.config().hidden * std::int64_t{sizeof(float)};
}

bool IndexExchange::has_fixed_sizes(Index exchange) const {
  if (!codebooks_.use().codes(exchange)) return true;
  return !levels_ && coding_of(exchange) == compress::IndexCoding::fixed;
}

std::span<std::byte> IndexExchange::receive_buffer(Index exchange) {
  if (codebooks_.use().codes(exchange)) return frames_.view().elements();
  return std::as_writable_bytes(raw_.view().elements());
}

std::span<std::int32_t> IndexExchange::indices_of(Matrix<std::int32_t>& kept, Index exchange,
                                                  Index first_row, Index rows) const {
  const Index groups = codebooks_.use().groups;
  return kept.view()
      .row(exchange % kept.rows())
      .subspan(static_cast<std::size_t>(first_row * groups),
               static_cast<std::size_t>(rows * groups));
}

/// Indices of another level count as unknown: tables are made from tokens that stay on a level, and
/// after an index that stands for more or for less they mislead.
compress::KnownIndices IndexExchange::known(Matrix<std::int32_t>& kept, Index exchange,
                                            Index first_row, Index rows, int device) const {
  compress::KnownIndices known;
  const auto is_known = [&](Index earlier) {
    return !levels_ || levels_->is_same(exchange, earlier, device);
  };
  if (coding_of(exchange) != compress::IndexCoding::cross_layer || !is_known(exchange - 1))
    return known;
  known.previous = indices_of(kept, exchange - 1, first_row, rows);
  // The exchange before has one before it where it is coded so, too.
  if (coding_of(exchange - 1) == compress::IndexCoding::cross_layer && is_known(exchange - 2))
    known.earlier = indices_of(kept, exchange - 2, first_row, rows);
  return known;
}

fabric::Payload IndexExchange::encode(Index exchange, MatrixView<const float> rows,
                                      fabric::Fabric& fabric) {
  choose_level(exchange, rows.rows(), fabric);
  if (!codebooks_.use().codes(exchange)) return {.bytes = std::as_bytes(rows.elements())};
  const std::span<std::int32_t> indices = indices_of(own_indices_, exchange, 0, rows.rows());
  const int number = static_cast<int>(exchange);
  fabric.compute({"search", number}, [&](Operations& counted) {
    codebooks_.codebook(exchange).nearest(rows, level_, scores_.view().elements(), indices,
                                          counted);
  });
  if (observer_ != nullptr) observer_->on_quantised(exchange, rows, indices);
  fabric::Payload payload;
  fabric.compute({"pack", number}, [&](Operations&) { payload = pack(exchange, indices); });
  return payload;
}

fabric::Payload IndexExchange::pack(Index exchange, std::span<const std::int32_t> indices) {
  const Index rows = std::ssize(indices) / codebooks_.use().groups;
  const std::span<std::byte> room = frame_.view().elements();
  const std::int64_t bytes =
      compress::encode_frame(indices, known(own_indices_, exchange, 0, rows, layout_->device),
                             tables(exchange, level_), format_, coding_of(exchange), room);
  const auto frame = room.first(static_cast<std::size_t>(bytes));
  const bool has_header = has_fixed_sizes(exchange) ? format_.has_header : true;
  const compress::FrameSize fixed =
      compress::frame_size(std::ssize(indices), format_.bits, has_header);
  // Coded indices fill their last byte; a fixed frame may be what a coded one would not undercut.
  const bool is_fixed =
      has_fixed_sizes(exchange) ||
      compress::read_frame_header(frame, layout_->device).coding == compress::IndexCoding::fixed;
  return {frame, fixed.header_bits, is_fixed ? fixed.padding_bits : 0};
}

/// A terminal makes the devices' frames at the finest level: it measures no exchange of theirs.
void IndexExchange::choose_level(Index exchange, Index rows, const fabric::Fabric& fabric) {
  if (!levels_ || fabric.is_terminal()) return;
  levels_->begin(exchange, rows, fabric);
  if (!codebooks_.use().codes(exchange)) return;
  level_ = levels_->choose(fabric, coding_of(exchange));
  format_ = trace_format(codebooks_, level_);
}

void IndexExchange::decode(Index layer, const fabric::Delivery& arrived, ops::KvContext& context,
                           Operations& counted) {
  exchange_ = layer;
  is_lossy_ = arrived.is_lossy();
  if (is_lossy_) note_losses(layer, arrived);
  if (codebooks_.use().codes(layer)) unpack_frames(layer, arrived);
  if (is_lossy_) stand_in(layer, arrived.policy());
  decode_remote(layer, context, counted);
}

/// In device order, hence in token order.
void IndexExchange::unpack_frames(Index exchange, const fabric::Delivery& arrived) {
  Index first = 0;
  for (int device = 0; device < layout_->devices(); ++device) {
    if (device == layout_->device) continue;
    const Index rows = layout_->slices[static_cast<std::size_t>(device)].size;
    const std::span<std::int32_t> indices = indices_of(remote_indices_, exchange, first, rows);
    if (is_readable(exchange, arrived, device)) {
      const int level = sender_level(exchange, arrived, device);
      compress::decode_frame(
          arrived.from(device), known(remote_indices_, exchange, first, rows, device),
          tables(exchange, level), format_at(level), coding_of(exchange), device, indices);
    } else {
      std::ranges::fill(indices, 0);
      if (levels_) levels_->miss(exchange);
    }
    first += rows;
  }
}

/// Of a frame that can be read.
int IndexExchange::sender_level(Index exchange, const fabric::Delivery& arrived, int device) {
  return levels_ ? levels_->level_of(exchange, arrived.from(device), device) : level_;
}

/// Of frames at this level, which is one for all unless somebody chooses.
compress::FrameFormat IndexExchange::format_at(int level) const {
  return levels_ ? trace_format(codebooks_, level) : format_;
}

/// A frame without its header tells nothing, nor does a piece of one that must be read as a whole,
/// since nobody knows which token a bit belongs to.
bool IndexExchange::is_readable(Index exchange, const fabric::Delivery& arrived, int device) const {
  if (coding_of(exchange) != compress::IndexCoding::fixed)
    return !arrived.is_missing(device, 0, std::ssize(arrived.from(device)));
  return !format_.has_header || !arrived.is_missing(device, 0, 1);
}

/// Notes which of the peers' tokens were lost, and clears what lies in their place: an index is
/// then a small one, which a frame may hold.
void IndexExchange::note_losses(Index exchange, const fabric::Delivery& arrived) {
  lost_.begin(remote_tokens(), remote_.capacity());
  const bool is_coded = codebooks_.use().codes(exchange);
  const bool has_pieces = !is_coded || coding_of(exchange) == compress::IndexCoding::fixed;
  Index token = 0;
  for (int device = 0; device < layout_->devices(); ++device) {
    if (device == layout_->device) continue;
    const bool is_readable = !is_coded || this->is_readable(exchange, arrived, device);
    const compress::FrameFormat format =
        is_coded && is_readable ? format_at(sender_level(exchange, arrived, device)) : format_;
    const Index rows = layout_->slices[static_cast<std::size_t>(device)].size;
    for (Index row = 0; row < rows; ++row, ++token) {
      const Slice bytes = bytes_of(exchange, row, format);
      const bool is_missing = has_pieces && arrived.is_missing(device, bytes.begin, bytes.end());
      if (!is_readable || is_missing) lost_.lose(token);
    }
    clear_lost(exchange, arrived, device);
  }
}

/// Where a row of a sender lies in its payload, of indices that are not coded or of raw rows.
Slice IndexExchange::bytes_of(Index exchange, Index row,
                              const compress::FrameFormat& format) const {
  constexpr Index kByteBits = 8;
  if (!codebooks_.use().codes(exchange)) {
    const Index row_bytes = model_.config().hidden * Index{sizeof(float)};
    return {row * row_bytes, row_bytes};
  }
  const Index row_bits = codebooks_.use().groups * format.bits;
  const Index begin = (format.has_header ? kByteBits : 0) + row * row_bits;
  const Index first = begin / kByteBits;
  return {first, (begin + row_bits + kByteBits - 1) / kByteBits - first};
}

void IndexExchange::clear_lost(Index exchange, const fabric::Delivery& arrived, int device) {
  const std::span<std::byte> buffer = receive_buffer(exchange);
  const std::ptrdiff_t offset = arrived.from(device).data() - buffer.data();
  arrived.for_each_lost(device, [&](std::int64_t begin, std::int64_t end) {
    std::fill(buffer.begin() + offset + begin, buffer.begin() + offset + end, std::byte{0});
  });
}

void IndexExchange::find_successors(const DeviceRole& role) {
  const compress::CodebookUse& use = codebooks_.use();
  const Index codewords = codebooks_.levels()[static_cast<std::size_t>(level_)];
  const Index layers = model_.config().layers;
  successors_ = Matrix<std::int32_t>(layers, codewords * use.groups, role.memory);
  known_indices_ = Matrix<std::int32_t>(1, remote_.capacity() * use.groups, role.memory);
  is_known_ = Matrix<std::uint8_t>(1, remote_.capacity(), role.memory);
  for (Index e = use.codes_first_exchange ? 1 : 2; e < layers; ++e)
    codebooks_.codebook(e).nearest_to(codebooks_.codebook(e - 1), level_,
                                      successors_.view().row(e));
}

void IndexExchange::stand_in(Index layer, fabric::OnLoss policy) {
  const Index groups = codebooks_.use().groups;
  const bool reuses = policy == fabric::OnLoss::reuse && successors_.rows() > 0;
  const std::span<std::int32_t> indices = remote_indices_.view().elements();
  for (Index token = 0; token < remote_tokens(); ++token) {
    const bool is_lost = lost_.is_lost(token);
    const bool has_successor = reuses && is_known_(0, token) != 0;
    if (is_lost && !has_successor) lost_.hide(token);
    if (!reuses) continue;
    for (Index g = 0; g < groups; ++g) {
      const Index i = token * groups + g;
      if (is_lost && has_successor)
        indices[static_cast<std::size_t>(i)] =
            successors_(layer, known_indices_(0, i) * groups + g);
      known_indices_(0, i) = indices[static_cast<std::size_t>(i)];
    }
    is_known_(0, token) = codebooks_.use().codes(layer) && (!is_lost || has_successor) ? 1 : 0;
  }
}

std::span<const std::int32_t> IndexExchange::remote_indices() const {
  return remote_indices_.view()
      .row(exchange_ % remote_indices_.rows())
      .first(static_cast<std::size_t>(remote_tokens() * codebooks_.use().groups));
}

void IndexExchange::copy_raw_remote(MatrixView<float> rows) const {
  const Index before = layout_->local().begin - layout_->replicated;
  const Index after = remote_tokens() - before;
  copy(raw_.first(before), rows.rows(0, before));
  copy(raw_.view().rows(before + layout_->local_tokens(), after), rows.rows(before, after));
  for (Index token = 0; is_lossy_ && token < remote_tokens(); ++token)
    if (lost_.is_lost(token)) std::ranges::fill(rows.row(token), 0.0F);
}

MatrixView<float> IndexExchange::append_remote(ops::KvContext& context) {
  return context.append(is_lossy_ ? lost_.log_counts(remote_.log_counts()) : remote_.log_counts(),
                        remote_.positions());
}

}  // namespace thinwire::strategy
