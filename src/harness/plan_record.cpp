#include <algorithm>
#include <array>

#include "record_parts.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/plan.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

Json options_json(const KeyValues& options) {
  Json object = Json::object();
  for (const auto& [name, value] : options) object[name] = value;
  return object;
}

/// Rows that the devices own; null where no search chose them.
Json rows_json(const PlanEntry& entry) {
  return entry.spec.rows.empty() ? Json(nullptr) : Json(entry.spec.rows);
}

Json entry_json(const PlanEntry& entry) {
  const bool runs = finite_or_null(entry.latency_s).is_number();
  KeyValues run = run_options(entry.spec);
  std::erase_if(run, [](const auto& option) { return option.first == "model"; });  // maybe a path
  Json object{{"options", options_json(entry.options)},
              {"run", options_json(run)},
              {"device", entry.device < 0 ? Json(nullptr) : Json(entry.device)},
              {"changes_answer", !entry.is_exact},
              {"excluded", entry.excluded.empty() ? Json(nullptr) : Json(entry.excluded)},
              {"latency_s", finite_or_null(entry.latency_s)},
              {"compute_s", finite_or_null(entry.compute_s)},
              {"wait_s", finite_or_null(entry.wait_s)},
              {"bits_per_inference", runs ? Json(entry.bits) : Json(nullptr)},
              {"memory_bytes", runs ? Json(entry.memory_bytes) : Json(nullptr)},
              {"energy_j", finite_or_null(entry.energy_j)},
              {"partition", to_string(entry.spec.partition)},
              {"rows", rows_json(entry)},
              {"device_gflops", entry.spec.device_gflops},
              {"accuracy", nullptr}};
  if (entry.accuracy)
    object["accuracy"] = {{"metric", entry.accuracy->metric}, {"value", entry.accuracy->value}};
  return object;
}

Json choices_json(const std::vector<PlanChoice>& choices) {
  Json list = Json::array();
  for (const PlanChoice& choice : choices)
    list.push_back({{"from_bit_per_s", choice.from.bit_per_s()},
                    {"to_bit_per_s", choice.to.bit_per_s()},
                    {"candidate", choice.entry ? Json(*choice.entry) : Json(nullptr)}});
  return list;
}

}  // namespace

KeyValues run_options(const RunSpec& spec) {
  KeyValues options;
  for (const std::string_view name : plan_fields()) {
    if (name == "active-codewords" && spec.level) continue;  // says the same
    const Field& field = find_field(name);
    const Json value = field.to_json(spec);
    if (!value.is_null() && value != field.to_json(RunSpec{}))
      options.emplace_back(name, flag_text(value));
  }
  return options;
}

Json to_json(const Plan& plan) {
  Json object{{"schema", "thinwire.plan/1"},
              {"model", to_json(plan.base).at("model")},
              {"devices", plan.base.devices},
              {"link", link_json(plan.base.links().front())},
              {"objective", to_string(plan.objective)},
              {"candidates", Json::array()},
              {"choices", choices_json(plan.choices)},
              {"exact_choices", choices_json(plan.exact_choices)}};
  for (const PlanEntry& entry : plan.entries) object["candidates"].push_back(entry_json(entry));
  return object;
}

}  // namespace thinwire::harness
