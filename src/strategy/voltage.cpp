#include "thinwire/strategy/voltage.hpp"

namespace thinwire::strategy {

VoltageExchange::VoltageExchange(const model::Model& model, const DeviceRole& role,
                                 const StrategyOptions& options, std::span<const Layout> layouts)
    : RowExchange(model, role, options.payload,
                  {.published = most_local_rows(layouts),
                   .received = longest(layouts),
                   .remote = most_remote_tokens(layouts)}),
      tokens_(longest(layouts), role.memory) {}

void VoltageExchange::on_begin(const Layout& layout, const model::ModelInput& input) {
  tokens_.describe(layout.tokens(), input, [](Index token) { return token; });
}

Index VoltageExchange::published_rows(int device) const {
  return layout().slices[static_cast<std::size_t>(device)].size;
}

fabric::Payload VoltageExchange::encode(Index exchange, MatrixView<const float> rows,
                                        fabric::Fabric& fabric) {
  if (!is_coded()) return {.bytes = payload_of(rows)};
  fabric::Payload payload;
  fabric.compute({"encode", static_cast<int>(exchange)},
                 [&](Operations&) { payload.bytes = payload_of(rows); });
  return payload;
}

RowExchange::Columns VoltageExchange::columns() {
  return {.rows = received(layout().tokens()),
          .log_counts = tokens_.log_counts(),
          .last = tokens_.positions(),
          .local = layout().local()};
}

}  // namespace thinwire::strategy
