#include "given_options.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/plan.hpp"
#include "thinwire/harness/result_file.hpp"

namespace thinwire::harness {
namespace {

void assign_rates(std::string_view text, PlanRequest& request) {
  const std::size_t dots = text.find("..");
  require_input(dots != text.npos, "two rates are expected (write 100kbps..10Gbps)");
  request.slowest = Rate::parse(text.substr(0, dots));
  request.fastest = Rate::parse(text.substr(dots + 2));
  require_input(request.slowest < request.fastest && !request.fastest.is_unlimited(),
                "the slower rate comes first, and both are limited (write 100kbps..10Gbps)");
}

double parse_positive(std::string_view text) {
  const double value = parse_number(text);
  require_input(value > 0, "a number above 0 is expected (write 0.8)");
  return value;
}

}  // namespace

PlanRequest make_plan_request(const std::map<std::string, std::string>& options) {
  PlanRequest request;
  for (const std::string_view name : plan_fields())
    if (const auto found = options.find(std::string(name)); found != options.end())
      request.given.push_back(*found);
  const GivenOptions given(options);
  given.with("profile", [&](std::string_view text) {
    for (const std::string& file : split(text, ',')) request.profiles.push_back(read_profile(file));
  });
  given.with("objective",
             [&](std::string_view text) { request.objective = parse_objective(text); });
  given.with("max-latency", [&](std::string_view text) {
    request.max_latency = Seconds::parse(text);
    require_input(request.max_latency->value_s() > 0, "a time above 0 is expected (write 50ms)");
  });
  given.with("max-bits", [&](std::string_view text) { request.max_bits = Bytes::parse(text); });
  given.with("min-accuracy",
             [&](std::string_view text) { request.min_accuracy = parse_positive(text); });
  given.with("records", [&](std::string_view text) { request.records = read_records(text); });
  given.with("rate-range", [&](std::string_view text) { assign_rates(text, request); });
  given.with("level", [](std::string_view text) {
    for (const std::string& level : split(text, ','))
      require_input(
          strategy::parse_level_control(level) == strategy::LevelControl::fixed,
          "levels that are chosen for every message have no formula (write 0..4 or auto)");
  });
  request.is_exact_only = given.is_on("exact");
  return request;
}

}  // namespace thinwire::harness
