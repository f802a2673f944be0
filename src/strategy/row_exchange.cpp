#include "thinwire/strategy/row_exchange.hpp"

namespace thinwire::strategy {
namespace {

Index normed_rows(const model::Model& model, Index remote_rows) {
  return model.config().norm_order() == model::NormOrder::pre ? remote_rows : 0;
}

}  // namespace

RowExchange::RowExchange(const model::Model& model, const DeviceRole& role, Index received_rows,
                         Index max_remote_rows)
    : model_(model),
      received_(received_rows, model.config().hidden, role.memory),
      normed_(normed_rows(model, max_remote_rows), model.config().hidden, role.memory) {}

void RowExchange::begin(const Layout& layout, const model::ModelInput& input,
                        Observer* /*observer*/) {
  on_begin(layout, input);
}

std::int64_t RowExchange::payload_bytes(Index /*exchange*/, int device) const {
  return published_rows(device) * received_.cols() * std::int64_t{sizeof(float)};
}

std::span<std::byte> RowExchange::receive_buffer(Index /*exchange*/) {
  return std::as_writable_bytes(received_.view().elements());
}

void RowExchange::decode(Index layer, const fabric::Delivery& /*arrived*/, ops::KvContext& context,
                         Operations& counted) {
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
