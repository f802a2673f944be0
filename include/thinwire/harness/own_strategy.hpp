#pragma once
#include "thinwire/cost/registration.hpp"
#include "thinwire/strategy/registration.hpp"

namespace thinwire::harness {

/// A strategy from outside the library, with its prediction: every command, record and check knows
/// it by its name while this object lives. Made in main before anything else; the entry's strings
/// must outlive it.
class OwnStrategy {
 public:
  /// Throws Error when the name is taken.
  OwnStrategy(const strategy::StrategyEntry& entry,
              cost::Prediction (*predict)(const cost::Workload&))
      : strategy_(entry), prediction_({entry.name, predict}) {}

 private:
  strategy::Registration strategy_;
  cost::Registration prediction_;
};

}  // namespace thinwire::harness
