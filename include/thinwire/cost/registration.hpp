#pragma once
#include <string>
#include <string_view>

#include "thinwire/cost/workload.hpp"

namespace thinwire::cost {

/// One line a strategy: what its pass will cost.
struct PredictionEntry {
  std::string_view name;
  Prediction (*predict)(const Workload&);
};

/// Adds a prediction to those that predict() knows while it lives; strategy::Registration's other
/// half, under the same conditions. Throws Error when the name is taken.
class Registration {
 public:
  explicit Registration(const PredictionEntry& entry);
  Registration(const Registration&) = delete;
  ~Registration();

 private:
  std::string name_;
};

}  // namespace thinwire::cost
