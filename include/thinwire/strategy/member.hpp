#pragma once
#include <functional>
#include <memory>
#include <span>

#include "thinwire/strategy/exchange.hpp"
#include "thinwire/strategy/layout.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// What sets a member of the sequence-parallel family apart.
struct Member {
  Index replicated = 0;   ///< leading tokens of which every device has a copy
  bool overlaps = false;  ///< unless the options say otherwise
  /// The codec, with room for all `layouts`; called only where there are peers.
  std::function<std::unique_ptr<Exchange>(std::span<const Layout> layouts)> make_exchange;
  /// Most key columns of a device in a layout.
  std::function<Index(const Layout&)> columns = [](const Layout& layout) {
    return layout.tokens();
  };
};

/// The member's part of a device, or the terminal: SequenceParallel with the member's exchange.
/// Throws InputError when there are more devices than tokens.
std::unique_ptr<Strategy> make_member(const model::Model& model, const StrategyOptions& options,
                                      const DeviceRole& role, const Member& member);

}  // namespace thinwire::strategy
