#include <array>
#include <span>
#include <string_view>

#include "block_split.hpp"
#include "nominal.hpp"
#include "terminal.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/named.hpp"
#include "thinwire/base/table.hpp"
#include "thinwire/cost/family.hpp"
#include "thinwire/cost/registration.hpp"

namespace thinwire::cost {
namespace {

Prediction predict_with(const Workload& workload, MethodPtr method,
                        const std::vector<Share>& shares) {
  if (workload.devices == 1) method.reset();
  Prediction prediction = predict_family(workload, method.get(), shares);
  add_nominal_figures(workload, method.get(), prediction);
  return prediction;
}

template <MakeMethod make>
Prediction predict_member(const Workload& workload) {
  return predict_member(workload, make);
}

Prediction predict_single(const Workload& workload) {
  require_input(workload.devices == 1, "strategy=single runs on one device, not on devices={}",
                workload.devices);
  return predict_with(workload, nullptr, make_shares(workload));
}

/// With a replicated class token every device has one more row.
Prediction predict_astra(const Workload& workload) {
  const bool replicates = workload.replicates_class_token;
  require_input(!replicates || workload.model.head == model::HeadKind::class_token,
                "class-token=replicated: model {} does not read its answer off a class token",
                workload.model.name);
  const std::vector<Share> shares =
      make_shares(workload, replicates && workload.devices > 1 ? 1 : 0);
  return predict_with(workload, make_astra(workload, shares), shares);
}

constexpr std::array kPredictions = {PredictionEntry{"single", predict_single},
                                     PredictionEntry{"voltage", predict_member<make_voltage>},
                                     PredictionEntry{"prism", predict_member<make_prism>},
                                     PredictionEntry{"astra", predict_astra},
                                     PredictionEntry{"trace-b", predict_member<make_trace_b>},
                                     PredictionEntry{"trace-nb", predict_member<make_trace_nb>},
                                     PredictionEntry{"trace-2a", predict_member<make_trace_2a>},
                                     PredictionEntry{"trace-1b", predict_member<make_trace_1b>},
                                     PredictionEntry{"tensor", predict_tensor},
                                     PredictionEntry{"pipeline", predict_pipeline}};

/// Those above, and what the program has registered.
Table<PredictionEntry>& table() {
  static Table<PredictionEntry> table(kPredictions);
  return table;
}

void check(const Workload& workload) {
  require_input(workload.tokens >= 1, "tokens={}: a sequence has at least one token",
                workload.tokens);
  require_input(workload.devices >= 1, "devices={}: at least one device has to compute",
                workload.devices);
  require_input(workload.threads >= 1, "threads={}: a device computes with at least one thread",
                workload.threads);
  require_input(workload.model.is_text() || workload.tokens == workload.model.tokens,
                "tokens={}: model {} makes {} tokens of its input", workload.tokens,
                workload.model.name, workload.model.tokens);
}

}  // namespace

Registration::Registration(const PredictionEntry& entry) : name_(entry.name) {
  table().add(entry);
}

Registration::~Registration() {
  table().remove(name_);
}

Prediction predict_member(const Workload& workload, MakeMethod make) {
  const std::vector<Share> shares = make_shares(workload);
  return predict_with(workload, make(workload, shares), shares);
}

Prediction predict(const Workload& workload) {
  const PredictionEntry& entry = find_named("strategy", workload.strategy, table().entries());
  check(workload);
  Prediction prediction = entry.predict(workload);
  if (workload.has_terminal) add_message_memory(prediction);
  return prediction;
}

std::int64_t Prediction::total_flops(Convention convention) const {
  std::int64_t total = 0;
  for (const Operations& operations : device_operations) total += flops(operations, convention);
  return total;
}

}  // namespace thinwire::cost
