#include "thinwire/strategy/row_exchange.hpp"

#include <algorithm>

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

std::size_t count(MatrixView<const float> rows) {
  return static_cast<std::size_t>(rows.rows());
}

}  // namespace

RowExchange::RowExchange(const model::Model& model, const DeviceRole& role,
                         compress::RowFormat payload, const Room& room)
    : model_(model),
      payload_(payload),
      memory_(role.memory),
      lost_(role.memory),
      received_(room.received, model.config().hidden, role.memory),
      sent_coded_(coded_room(room.published, payload, model, role)),
      coded_(coded_room(room.received, payload, model, role)),
      normed_(normed_rows(model, room.remote), model.config().hidden, role.memory) {}

void RowExchange::begin(const Layout& layout, const model::ModelInput& input,
                        Observer* /*observer*/) {
  layout_ = &layout;
  if (has_previous_.cols() > 0) std::ranges::fill(has_previous_.view().row(0), std::uint8_t{0});
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
  if (arrived.is_lossy()) conceal(arrived);
  Columns all = columns();
  if (arrived.is_lossy()) all.log_counts = lost_.log_counts(all.log_counts.first(count(all.rows)));
  append(layer, all, {0, all.local.begin}, context, counted);
  append(layer, all, {all.local.end(), all.rows.rows() - all.local.end()}, context, counted);
}

/// Leaves nothing of what was lost in received_.
void RowExchange::conceal(const fabric::Delivery& arrived) {
  Index rows = 0;
  for (int device = 0; device < layout_->devices(); ++device) rows += published_rows(device);
  lost_.begin(rows, received_.rows());
  const std::int64_t row_bytes = compress::row_bytes(payload_, received_.cols());
  Index first = 0;
  for (int device = 0; device < layout_->devices(); ++device) {
    const Index published = published_rows(device);
    arrived.for_each_lost(device, [&](std::int64_t begin, std::int64_t end) {
      for (Index row = begin / row_bytes; row * row_bytes < end; ++row) lost_.lose(first + row);
    });
    for (Index row = first; device != layout_->device && row < first + published; ++row)
      replace(row, arrived.policy());
    first += published;
  }
}

RowLosses RowExchange::losses() const {
  return {lost_.rows() - published_rows(layout_->device), lost_.count()};
}

/// One of a peer's rows by what stands in for it if it was lost; else keeps it for the next time.
void RowExchange::replace(Index row, fabric::OnLoss policy) {
  const bool reuses = policy == fabric::OnLoss::reuse;
  if (reuses && previous_.rows() == 0) {
    previous_ = Matrix<float>(received_.rows(), received_.cols(), memory_);
    has_previous_ = Matrix<std::uint8_t>(1, received_.rows(), memory_);
  }
  const std::span<float> current = received_.view().row(row);
  if (!lost_.is_lost(row)) {
    if (!reuses) return;
    std::ranges::copy(current, previous_.view().row(row).begin());
    has_previous_(0, row) = 1;
  } else if (reuses && has_previous_(0, row) != 0) {
    std::ranges::copy(previous_.view().row(row), current.begin());
  } else {
    std::ranges::fill(current, 0.0F);
    lost_.hide(row);
  }
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
