#include "thinwire/harness/expand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "exclusions.hpp"
#include "option_values.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/codebook_choice.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

constexpr std::size_t kMaxPoints = 100'000;

/// A later value of an option replaces an earlier one in its place.
KeyValues merged(KeyValues base, const KeyValues& over) {
  for (const auto& [name, text] : over) {
    const auto same = std::ranges::find(base, name, &KeyValues::value_type::first);
    if (same != base.end())
      same->second = text;
    else
      base.emplace_back(name, text);
  }
  return base;
}

std::vector<KeyValues> product(const KeyValues& given) {
  std::vector<KeyValues> points(1);
  for (const auto& [name, text] : given) {
    const std::vector<std::string> values = values_of(name, text);
    require_input(points.size() * values.size() <= kMaxPoints,
                  "--{}={}: more than {} points in this sweep", name, text, kMaxPoints);
    std::vector<KeyValues> next;
    for (const KeyValues& point : points)
      for (const std::string& value : values) {
        next.push_back(point);
        next.back().emplace_back(name, value);
      }
    points = std::move(next);
  }
  return points;
}

/// A point for each link setting.
std::vector<RunSpec> split_links(const RunSpec& spec) {
  std::vector<RunSpec> points;
  for (const fabric::Link& link : spec.links()) {
    RunSpec& point = points.emplace_back(spec);
    if (link.trace)
      point.rate_trace = {*link.trace};
    else
      point.rate = {link.rates};
    point.latency = {link.latency};
    point.topology = {link.topology};
  }
  return points;
}

/// make_run_spec, but one point for each link setting where an execution has but one: real time,
/// and what is sent depends on the link.
std::vector<RunSpec> make_points(const KeyValues& given) {
  const RunSpec all = fill_run_spec(given);
  if (!fabric::is_wall_clock(all.clock) && !all.depends_on_link()) return {make_run_spec(given)};
  std::vector<RunSpec> points = split_links(all);
  if (points.empty()) check_options(all);  // which says what is missing
  for (RunSpec& point : points) {
    check_options(point);
    resolve_random_codebook(point);
  }
  return points;
}

void check_files(const std::vector<RunSpec>& points) {
  if (points.size() < 2) return;
  for (const RunSpec& point : points)
    for (const std::string_view name : {"outputs", "trace"})
      require_input((name == "outputs" ? point.outputs : point.trace).empty(),
                    "--{} with {} points: each would overwrite the last (use run)", name,
                    points.size());
}

/// Equal for equal points; an id alone tells no two folders of one name apart.
std::string key_of(const RunSpec& spec) {
  return fmt::format("{} {} {} {} {}", spec_id(spec, "", {}), spec.model, spec.input, spec.data,
                     spec.codebook);
}

std::vector<RunSpec> make_all(const std::vector<KeyValues>& givens) {
  std::vector<RunSpec> specs;
  std::set<std::string> keys;
  for (std::size_t i = 0; i < givens.size(); ++i) {
    try {
      for (RunSpec& spec : make_points(givens[i]))
        if (keys.insert(key_of(spec)).second) specs.push_back(std::move(spec));
    } catch (const InputError& error) {
      if (givens.size() == 1) throw;
      throw InputError(fmt::format("point {} of {}: {}", i + 1, givens.size(), error.what()));
    }
  }
  check_files(specs);
  return specs;
}

/// The object's options over `base`; null takes one away.
KeyValues over_base(KeyValues base, const Json& object) {
  const KeyValues given = key_values(object);
  for (const auto& item : object.items())
    if (item.value().is_null())
      std::erase_if(base, [&](const auto& pair) { return pair.first == item.key(); });
  return merged(std::move(base), given);
}

void check_keys(const Json& document) {
  constexpr std::array<std::string_view, 5> kKeys = {"name", "base", "matrix", "points", "exclude"};
  require_input(document.is_object(), "a sweep is an object with {}", join(kKeys, ", "));
  for (const auto& [key, value] : document.items())
    require_input(std::ranges::find(kKeys, key) != kKeys.end(),
                  "unknown key '{}' in a sweep{}; known: {}", key, suggestion(key, kKeys),
                  join(kKeys, ", "));
  require_input(!document.contains("name") || document["name"].is_string(),
                "the name of a sweep is a text, not {}", document.value("name", Json()).dump());
  require_input(!document.contains("points") || document["points"].is_array(),
                "the points of a sweep are a list of objects");
}

}  // namespace

std::vector<RunSpec> expand(const KeyValues& given) {
  return make_all(product(given));
}

Sweep make_sweep(const Json& document, const KeyValues& overrides) {
  check_keys(document);
  const KeyValues base = key_values(document.value("base", Json::object()));
  std::vector<KeyValues> points;
  const auto add = [&](const Json& object) {
    for (KeyValues& point : product(merged(over_base(base, object), overrides)))
      points.push_back(std::move(point));
  };
  // A document with neither is one point, or whatever lists `base` has.
  if (document.contains("matrix") || !document.contains("points"))
    add(document.value("matrix", Json::object()));
  if (document.contains("points"))
    for (const Json& object : document["points"]) add(object);
  if (document.contains("exclude")) exclude(points, document["exclude"], overrides);
  require_input(!points.empty(), "a sweep without points");
  return {document.value("name", std::string("sweep")), make_all(points)};
}

Sweep read_sweep(const std::filesystem::path& file, const KeyValues& overrides) {
  const Json document = read_json(file);
  try {
    Sweep sweep = make_sweep(document, overrides);
    if (!document.contains("name")) sweep.name = file.stem().string();
    return sweep;
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace thinwire::harness
