#include "halfrate.hpp"

#include <algorithm>
#include <cmath>

#include "thinwire/strategy/member.hpp"

namespace halfrate {
namespace {

using namespace thinwire;
using strategy::Layout;

/// Rows that all devices send together.
Index all_sent_rows(const Layout& layout) {
  Index rows = 0;
  for (const Slice& slice : layout.slices) rows += sent_rows(slice.size);
  return rows;
}

/// The most that any sequence needs.
template <class RowsOf>
Index most(std::span<const Layout> layouts, RowsOf rows_of) {
  Index rows = 0;
  for (const Layout& layout : layouts) rows = std::max(rows, rows_of(layout));
  return rows;
}

Index own_sent_rows(const Layout& layout) {
  return sent_rows(layout.local_tokens());
}

Index remote_sent_rows(const Layout& layout) {
  return all_sent_rows(layout) - own_sent_rows(layout);
}

}  // namespace

HalfrateExchange::HalfrateExchange(const model::Model& model, const strategy::DeviceRole& role,
                                   std::span<const Layout> layouts)
    : RowExchange(
          model, role, compress::RowFormat::fp32,
          {.received = most(layouts, all_sent_rows), .remote = most(layouts, remote_sent_rows)}),
      sent_(most(layouts, own_sent_rows), model.config().hidden, role.memory),
      log_counts_(1, most(layouts, all_sent_rows), role.memory),
      last_(1, most(layouts, all_sent_rows), role.memory) {}

void HalfrateExchange::on_begin(const Layout& layout, const model::ModelInput& input) {
  rows_ = 0;
  for (int device = 0; device < layout.devices(); ++device) {
    if (device == layout.device) local_ = {rows_, published_rows(device)};
    const Slice tokens = layout.slices[static_cast<std::size_t>(device)];
    for (Index token = tokens.begin; token < tokens.end(); token += 2, ++rows_) {
      // Padding counts for nothing: log 0 hides a column.
      const bool has_next = token + 1 < tokens.end();
      const int real =
          (input.is_real(token) ? 1 : 0) + (has_next && input.is_real(token + 1) ? 1 : 0);
      log_counts_(0, rows_) = std::log(static_cast<float>(real));
      last_(0, rows_) = static_cast<std::int32_t>(token);
    }
  }
}

Index HalfrateExchange::published_rows(int device) const {
  return sent_rows(layout().slices[static_cast<std::size_t>(device)].size);
}

fabric::Payload HalfrateExchange::encode(Index exchange, MatrixView<const float> rows,
                                         fabric::Fabric& fabric) {
  const MatrixView<float> sent = sent_.first(sent_rows(rows.rows()));
  fabric.compute({"every second row", static_cast<int>(exchange)}, [&](Operations&) {
    for (Index row = 0; row < sent.rows(); ++row)
      std::ranges::copy(rows.row(2 * row), sent.row(row).begin());
  });
  return {.bytes = std::as_bytes(sent.elements())};
}

strategy::RowExchange::Columns HalfrateExchange::columns() {
  const auto count = static_cast<std::size_t>(rows_);
  return {.rows = received(rows_),
          .log_counts = std::as_const(log_counts_).view().row(0).first(count),
          .last = std::as_const(last_).view().row(0).first(count),
          .local = local_};
}

std::unique_ptr<strategy::Strategy> make(const model::Model& model,
                                         const strategy::StrategyOptions& options,
                                         const strategy::DeviceRole& role) {
  const auto make_exchange = [&](std::span<const Layout> layouts) {
    return std::make_unique<HalfrateExchange>(model, role, layouts);
  };
  const auto columns = [](const Layout& layout) {
    return layout.local_tokens() + remote_sent_rows(layout);
  };
  return strategy::make_member(model, options, role,
                               {.make_exchange = make_exchange, .columns = columns});
}

}  // namespace halfrate
