#include "thinwire/strategy/voltage.hpp"

#include <limits>

namespace thinwire::strategy {
namespace {

Index most_remote(std::span<const Layout> layouts) {
  return std::ranges::max(layouts, {}, &Layout::remote_tokens).remote_tokens();
}

}  // namespace

VoltageExchange::VoltageExchange(const model::Model& model, const DeviceRole& role,
                                 std::span<const Layout> layouts)
    : RowExchange(model, role, longest(layouts), most_remote(layouts)),
      log_counts_(1, longest(layouts), role.memory),
      last_(1, longest(layouts), role.memory) {}

void VoltageExchange::on_begin(const Layout& layout, const model::ModelInput& input) {
  layout_ = &layout;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (Index token = 0; token < layout.tokens(); ++token) {
    log_counts_(0, token) = input.is_real(token) ? 0.0F : kHidden;
    last_(0, token) = static_cast<std::int32_t>(token);
  }
}

fabric::Payload VoltageExchange::encode(Index /*exchange*/, MatrixView<const float> x,
                                        fabric::Fabric& /*fabric*/) {
  return {.bytes = std::as_bytes(x.elements())};
}

RowExchange::Columns VoltageExchange::columns() {
  return {.rows = received(layout_->tokens()),
          .log_counts = std::as_const(log_counts_).view().row(0),
          .last = std::as_const(last_).view().row(0),
          .local = layout_->local()};
}

}  // namespace thinwire::strategy
