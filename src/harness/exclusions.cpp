#include "exclusions.hpp"

#include <algorithm>
#include <string>

#include "option_values.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

/// One option, and the values of it that match, as records have them: "2ms" equals "0.002s".
struct Condition {
  const Field* field;
  std::vector<Json> values;
};

std::vector<Condition> conditions_of(const Json& exclusion) {
  const KeyValues given = key_values(exclusion);
  require_input(!given.empty(), "{}: an option is needed", exclusion.dump());
  std::vector<Condition> conditions;
  for (const auto& [name, text] : given) {
    Condition& condition = conditions.emplace_back();
    condition.field = &find_field(name);
    for (const std::string& value : values_of(name, text))
      condition.values.push_back(condition.field->to_json(fill_run_spec({{name, value}})));
  }
  return conditions;
}

bool matches(const RunSpec& spec, const std::vector<Condition>& conditions) {
  return std::ranges::all_of(conditions, [&](const Condition& condition) {
    const Json value = condition.field->to_json(spec);
    return std::ranges::find(condition.values, value) != condition.values.end();
  });
}

bool names_one_of(const KeyValues& overrides, const std::vector<Condition>& conditions) {
  return std::ranges::any_of(conditions, [&](const Condition& condition) {
    return std::ranges::any_of(
        overrides, [&](const auto& pair) { return pair.first == condition.field->name; });
  });
}

}  // namespace

void exclude(std::vector<KeyValues>& points, const Json& exclusions, const KeyValues& overrides) {
  require_input(exclusions.is_array(), "\"exclude\" is a list of objects, not {}",
                exclusions.dump());
  std::vector<std::vector<Condition>> all;
  for (const Json& exclusion : exclusions) all.push_back(conditions_of(exclusion));
  std::vector<int> uses(all.size());
  std::erase_if(points, [&](const KeyValues& point) {
    const RunSpec spec = fill_run_spec(point);
    bool is_excluded = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!matches(spec, all[i])) continue;
      ++uses[i];
      is_excluded = true;
    }
    return is_excluded;
  });
  for (std::size_t i = 0; i < all.size(); ++i)
    require_input(uses[i] > 0 || names_one_of(overrides, all[i]),
                  "\"exclude\", {} of {}: {} matches no point of this sweep", i + 1, all.size(),
                  exclusions[i].dump());
}

}  // namespace thinwire::harness
