#include "thinwire/strategy/row_exchange.hpp"

#include "thinwire/compress/row_codec.hpp"

namespace thinwire::strategy {
namespace {

Index normed_rows(const model::Model& model, Index remote_rows) {
  return model.config().norm_order() == model::NormOrder::pre ? remote_rows : 0;
}

/// Room for rows as they are sent, unless that is as they are.
Matrix<std::byte> coded_room(Index rows, compress::RowFormat payload, const model::Model& model,
                             const DeviceRole& role) {
  const bool is_coded = payload != compress::RowFormat::fp32;
  return {is_coded ? rows : 0, compress::row_bytes(payload, model.config().hidden), role.memory};
}

}  // namespace

RowExchange::RowExchange(const model::Model& model, const DeviceRole& role,
                         compress::RowFormat payload, const Room& room)
    : model_(model),
      payload_(payload),
      received_(room.received, model.config().hidden, role.memory),
      sent_coded_(coded_room(room.published, payload, model, role)),
      coded_(coded_room(room.received, payload, model, role)),
      normed_(normed_rows(model, room.remote), model.config().hidden, role.memory) {}

void RowExchange::begin(const Layout& layout, const model::ModelInput& input,
                        Observer* /*observer*/) {
  layout_ = &layout;
  on_begin(layout, input);
}

std::int64_t RowExchange::payload_bytes(Index /*exchange*/, int device) const {
  return published_rows(device) * compress::row_bytes(payload_, received_.cols());
}

std::span<std::byte> RowExchange::receive_buffer(Index /*exchange*/) {
  return is_coded() ? coded_.view().elements()
                    : std::as_writable_bytes(received_.view().elements());
}

std::span<const std::byte> RowExchange::payload_of(MatrixView<const float> rows) {
  if (!is_coded()) return std::as_bytes(rows.elements());
  const MatrixView<std::byte> room = sent_coded_.first(rows.rows());
  compress::encode_rows(rows, payload_, room.elements());
  return room.elements();
}

/// The peers' rows to where they would have arrived in fp32.
void RowExchange::restore(const fabric::Delivery& arrived) {
  Index begin = 0;
  for (int device = 0; device < layout_->devices(); ++device) {
    const Index rows = published_rows(device);
    if (device != layout_->device)
      compress::decode_rows(arrived.from(device), payload_, received_.view().rows(begin, rows));
    begin += rows;
  }
}

void RowExchange::decode(Index layer, const fabric::Delivery& arrived, ops::KvContext& context,
                         Operations& counted) {
  if (is_coded()) restore(arrived);
  const Columns all = columns();
  append(layer, all, {0, all.local.begin}, context, counted);
  append(layer, all, {all.local.end(), all.rows.rows() - all.local.end()}, context, counted);
}

void RowExchange::append(Index layer, const Columns& columns, Slice rows, ops::KvContext& context,
                         Operations& counted) {
  if (rows.size == 0) return;
  const auto begin = static_cast<std::size_t>(rows.begin);
  const auto size = static_cast<std::size_t>(rows.size);
  const model::Block& block = model_.block(layer);
  const MatrixView<float> scratch = normed_.first(std::min(rows.size, normed_.rows()));
  const auto input = block.kv_input(columns.rows.rows(rows.begin, rows.size), scratch, counted);
  block.project_kv(
      input,
      context.append(columns.log_counts.subspan(begin, size), columns.last.subspan(begin, size)),
      counted);
}

}  // namespace thinwire::strategy
