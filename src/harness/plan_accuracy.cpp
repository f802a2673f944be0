#include <algorithm>
#include <array>

#include "plan_parts.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/compress/segments.hpp"
#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {
namespace {

/// Options that change an answer, in a completed spec. How fast devices are does not.
constexpr std::array<std::string_view, 10> kAnswerOptions = {
    "model",       "strategy", "devices",   "scaling",          "groups",
    "class-token", "codebook", "codewords", "active-codewords", "payload"};

/// L of a record, which names it or a compression rate; 0 without.
Index recorded_segments(const Json& spec) {
  const auto number = [&](const char* key) { return spec.value(key, Json()); };
  if (const Json segments = number("segments"); segments.is_number()) return segments.get<Index>();
  const Json rate = number("compression-rate"), tokens = number("tokens"),
             devices = number("devices");
  if (!rate.is_number() || !tokens.is_number() || !devices.is_number()) return 0;
  return compress::segments_for_rate(tokens.get<Index>(), devices.get<int>(), rate.get<double>());
}

class Matcher {
 public:
  Matcher(const RunSpec& spec, const model::ModelConfig& config)
      : wanted_(to_json(spec)), segments_(segments_for(spec, default_tokens(spec, config))) {}

  bool operator()(const Json& record) const {
    if (record.value("status", Json()) != "ok" || !record.contains("spec")) return false;
    const Json& spec = record.at("spec");
    const auto is_equal = [&](std::string_view key) {
      const std::string name(key);
      return spec.value(name, Json()) == wanted_.value(name, Json());
    };
    return std::ranges::all_of(kAnswerOptions, is_equal) && recorded_segments(spec) == segments_;
  }

 private:
  Json wanted_;
  Index segments_;
};

/// Whether one answer of classes is right, or, without a label, the single device's; nothing for
/// other answers.
std::optional<bool> is_right(const Json& answer, bool has_label) {
  if (!answer.is_object() || answer.value("kind", Json()) != "classes") return std::nullopt;
  if (has_label != !answer.value("label", Json()).is_null()) return std::nullopt;
  if (!has_label) return answer.at("same_top1").get<bool>();
  return answer.at("classes").at(0).at("label") == answer.at("label");
}

std::optional<RecordedAccuracy> share_of_right(std::span<const Json* const> records,
                                               bool has_label) {
  int right = 0, all = 0;
  for (const Json* record : records)
    if (const auto verdict = is_right(record->value("answer", Json()), has_label)) {
      right += *verdict ? 1 : 0;
      ++all;
    }
  if (all == 0) return std::nullopt;
  return RecordedAccuracy{has_label ? "right answers" : "answers as the single device",
                          static_cast<double>(right) / all};
}

}  // namespace

std::optional<RecordedAccuracy> recorded_accuracy(std::span<const Json> records,
                                                  const RunSpec& spec,
                                                  const model::ModelConfig& config) {
  const Matcher matches(spec, config);
  std::vector<const Json*> equal;
  for (const Json& record : records)
    if (matches(record)) equal.push_back(&record);
  for (auto record = equal.rbegin(); record != equal.rend(); ++record)
    if (const Json accuracy = (*record)->value("accuracy", Json()); accuracy.is_object())
      return RecordedAccuracy{accuracy.at("metric").get<std::string>(),
                              accuracy.at("value").get<double>()};
  if (auto share = share_of_right(equal, true)) return share;
  return share_of_right(equal, false);
}

}  // namespace thinwire::harness
