#include "thinwire/strategy/voltage.hpp"

namespace thinwire::strategy {

VoltageExchange::VoltageExchange(const model::Model& model, const DeviceRole& role,
                                 std::span<const Layout> layouts)
    : RowExchange(model, role, longest(layouts), most_remote_tokens(layouts)),
      tokens_(longest(layouts), role.memory) {}

void VoltageExchange::on_begin(const Layout& layout, const model::ModelInput& input) {
  layout_ = &layout;
  tokens_.describe(layout.tokens(), input, [](Index token) { return token; });
}

Index VoltageExchange::published_rows(int device) const {
  return layout_->slices[static_cast<std::size_t>(device)].size;
}

fabric::Payload VoltageExchange::encode(Index /*exchange*/, MatrixView<const float> rows,
                                        fabric::Fabric& /*fabric*/) {
  return {.bytes = std::as_bytes(rows.elements())};
}

RowExchange::Columns VoltageExchange::columns() {
  return {.rows = received(layout_->tokens()),
          .log_counts = tokens_.log_counts(),
          .last = tokens_.positions(),
          .local = layout_->local()};
}

}  // namespace thinwire::strategy
