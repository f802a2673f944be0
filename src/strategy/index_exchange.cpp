#include "thinwire/strategy/index_exchange.hpp"

#include <algorithm>

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

compress::FrameSize frame_size(Index rows, Index groups, const compress::FrameFormat& format) {
  return compress::frame_size(rows * groups, format.bits, format.has_header);
}

}  // namespace

int chosen_level(const StrategyOptions& options, const compress::CodebookSet& codebooks) {
  const int levels = static_cast<int>(codebooks.levels().size());
  require_input(options.level >= -1 && options.level < levels,
                "level={} of codebooks with {} levels: choose 0 (the coarsest) to {}",
                options.level, levels, levels - 1);
  return options.level == -1 ? levels - 1 : options.level;
}

IndexExchange::IndexExchange(const model::Model& model, const DeviceRole& role,
                             const compress::CodebookSet& codebooks, int level,
                             compress::FrameFormat format, std::span<const Layout> layouts)
    : model_(model),
      codebooks_(codebooks),
      level_(level),
      format_(format),
      remote_(most_remote_tokens(layouts), role.memory) {
  const Index groups = codebooks.use().groups;
  const auto own_frame = [&](const Layout& layout) {
    return frame_size(layout.local_tokens(), groups, format).bytes();
  };
  const auto all_frames = [&](const Layout& layout) {
    Index bytes = 0;
    for (const Slice& slice : layout.slices)
      bytes += frame_size(slice.size, groups, format).bytes();
    return bytes;
  };
  const Index own = most(layouts, [](const Layout& layout) { return layout.local_tokens(); });
  const Index raw = codebooks.use().codes(0) ? 0 : most(layouts, published_tokens);
  own_indices_ = Matrix<std::int32_t>(1, own * groups, role.memory);
  remote_indices_ = Matrix<std::int32_t>(1, most_remote_tokens(layouts) * groups, role.memory);
  scores_ = Matrix<float>(1, scratch_for(codebooks, model, level, layouts), role.memory);
  frame_ = Matrix<std::byte>(1, most(layouts, own_frame), role.memory);
  frames_ = Matrix<std::byte>(1, most(layouts, all_frames), role.memory);
  raw_ = Matrix<float>(raw, model.config().hidden, role.memory);
}

void IndexExchange::begin(const Layout& layout, const model::ModelInput& input,
                          Observer* observer) {
  layout_ = &layout;
  observer_ = observer;
  remote_.describe(layout.remote_tokens(), input,
                   [&layout](Index row) { return remote_position(layout, row); });
}

compress::FrameSize IndexExchange::frame_of(int device) const {
  return frame_size(layout_->slices[static_cast<std::size_t>(device)].size, codebooks_.use().groups,
                    format_);
}

std::int64_t IndexExchange::payload_bytes(Index exchange, int device) const {
  if (codebooks_.use().codes(exchange)) return frame_of(device).bytes();
  return layout_->slices[static_cast<std::size_t>(device)].size * model_.config().hidden *
         std::int64_t{sizeof(float)};
}

std::span<std::byte> IndexExchange::receive_buffer(Index exchange) {
  if (codebooks_.use().codes(exchange)) return frames_.view().elements();
  return std::as_writable_bytes(raw_.view().elements());
}

fabric::Payload IndexExchange::encode(Index exchange, MatrixView<const float> rows,
                                      fabric::Fabric& fabric) {
  if (!codebooks_.use().codes(exchange)) return {.bytes = std::as_bytes(rows.elements())};
  const compress::FrameSize size = frame_of(layout_->device);
  const auto indices = own_indices_.view().elements().first(
      static_cast<std::size_t>(rows.rows() * codebooks_.use().groups));
  const auto frame = frame_.view().elements().first(static_cast<std::size_t>(size.bytes()));
  const int number = static_cast<int>(exchange);
  fabric.compute({"search", number}, [&](Operations& counted) {
    codebooks_.codebook(exchange).nearest(rows, level_, scores_.view().elements(), indices,
                                          counted);
  });
  if (observer_ != nullptr) observer_->on_quantised(exchange, rows, indices);
  fabric.compute({"pack", number},
                 [&](Operations&) { compress::pack_indices(indices, format_, frame); });
  return {frame, size.header_bits, size.padding_bits};
}

void IndexExchange::decode(Index layer, const fabric::Delivery& arrived, ops::KvContext& context,
                           Operations& counted) {
  if (codebooks_.use().codes(layer)) unpack_frames(arrived);
  decode_remote(layer, context, counted);
}

/// In device order, hence in token order.
void IndexExchange::unpack_frames(const fabric::Delivery& arrived) {
  std::span<std::int32_t> indices = remote_indices_.view().elements();
  for (int device = 0; device < layout_->devices(); ++device) {
    if (device == layout_->device) continue;
    const auto count = static_cast<std::size_t>(
        layout_->slices[static_cast<std::size_t>(device)].size * codebooks_.use().groups);
    compress::unpack_indices(arrived.from(device), format_, device, indices.first(count));
    indices = indices.subspan(count);
  }
}

std::span<const std::int32_t> IndexExchange::remote_indices() const {
  return remote_indices_.view().elements().first(
      static_cast<std::size_t>(remote_tokens() * codebooks_.use().groups));
}

void IndexExchange::copy_raw_remote(MatrixView<float> rows) const {
  const Index before = layout_->local().begin - layout_->replicated;
  const Index after = remote_tokens() - before;
  copy(raw_.first(before), rows.rows(0, before));
  copy(raw_.view().rows(before + layout_->local_tokens(), after), rows.rows(before, after));
}

MatrixView<float> IndexExchange::append_remote(ops::KvContext& context) const {
  return context.append(remote_.log_counts(), remote_.positions());
}

}  // namespace thinwire::strategy
