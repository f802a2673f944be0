#pragma once
#include <string>

#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// Adds a strategy to strategies() while it lives: for a program that brings one of its own. Made
/// in main before anything else, since spans of strategies() end with a change of the table. The
/// entry's strings must outlive it. Throws Error when the name is taken.
class Registration {
 public:
  explicit Registration(const StrategyEntry& entry);
  Registration(const Registration&) = delete;
  ~Registration();

 private:
  std::string name_;
};

}  // namespace thinwire::strategy
