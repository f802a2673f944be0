#include "thinwire/fabric/rate_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"

namespace thinwire::fabric {
namespace {

void check_steps(std::span<const RateTrace::Step> steps) {
  require_input(steps.size() >= 2, "a trace has two lines of time and rate or more, not {}",
                steps.size());
  require_input(steps.front().start_s == 0, "the first time is {} s, not 0", steps.front().start_s);
  for (std::size_t i = 1; i < steps.size(); ++i)
    require_input(steps[i].start_s > steps[i - 1].start_s, "the time {} s comes after {} s",
                  steps[i].start_s, steps[i - 1].start_s);
  for (const RateTrace::Step& step : steps)
    require_input(
        std::isfinite(step.start_s) && std::isfinite(step.bit_per_s) && step.bit_per_s >= 0,
        "the rate {} bit/s at {} s is no rate", step.bit_per_s, step.start_s);
  require_input(std::ranges::any_of(steps, [](const auto& step) { return step.bit_per_s > 0; }),
                "the rate is 0 throughout: nothing would ever arrive");
}

/// Far beyond what links are, so that no sum or quotient of these leaves the range of numbers.
void check_range(double duration_s, double mean_bit_per_s) {
  require_input(
      duration_s >= 1e-6 && duration_s <= 1e9 && mean_bit_per_s >= 1e-3 && mean_bit_per_s <= 1e15,
      "{} s with {} bit/s in the mean are out of range (1e-6 to 1e9 s, 1e-3 to 1e15 "
      "bit/s)",
      duration_s, mean_bit_per_s);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool is_heading(std::string_view time, std::string_view rate) {
  return time == "time" && rate == "rate";
}

/// One line's step, to follow `before`. Nothing for a line that says nothing.
void add_line(std::string_view line, std::vector<RateTrace::Step>& steps) {
  if (line.empty() || line.front() == '#') return;
  const auto comma = line.find(',');
  require_input(comma != std::string_view::npos && line.find(',', comma + 1) == line.npos,
                "'{}' is not a time and a rate (write 1.5 s, 10 Mbps)", line);
  const std::string_view time = trim(line.substr(0, comma)), rate = trim(line.substr(comma + 1));
  if (steps.empty() && is_heading(time, rate)) return;
  const RateTrace::Step step{Seconds::parse(time).value_s(), parse_bit_per_s(rate)};
  if (steps.empty())
    require_input(step.start_s == 0, "the first time is {}, not 0 s", time);
  else
    require_input(step.start_s > steps.back().start_s, "the time {} is not after {} s", time,
                  steps.back().start_s);
  steps.push_back(step);
}

}  // namespace

RateTrace::RateTrace(std::string name, std::vector<Step> steps) {
  check_steps(steps);
  const double last_s = steps.back().start_s - steps[steps.size() - 2].start_s;
  Content content{std::move(name), std::move(steps), 0, {}};
  content.duration_s = content.steps.back().start_s + last_s;
  double sent_bits = 0;
  for (std::size_t i = 0; i < content.steps.size(); ++i) {
    const bool is_last = i + 1 == content.steps.size();
    const double end_s = is_last ? content.duration_s : content.steps[i + 1].start_s;
    sent_bits += content.steps[i].bit_per_s * (end_s - content.steps[i].start_s);
    content.sent_bits.push_back(sent_bits);
  }
  check_range(content.duration_s, sent_bits / content.duration_s);
  content_ = std::make_shared<const Content>(std::move(content));
}

Rate RateTrace::mean_rate() const {
  return Rate::bits_per_second(content_->sent_bits.back() / duration_s());
}

std::size_t RateTrace::step_at(double phase_s) const {
  const auto after = std::ranges::upper_bound(content_->steps, phase_s, {}, &Step::start_s);
  return static_cast<std::size_t>(after - content_->steps.begin()) - 1;
}

double RateTrace::step_end_s(std::size_t step) const {
  return step + 1 == content_->steps.size() ? duration_s() : content_->steps[step + 1].start_s;
}

double RateTrace::bit_per_s_at(double time_s) const {
  return content_->steps[step_at(std::fmod(time_s, duration_s()))].bit_per_s;
}

double RateTrace::end_s(double start_s, double bits) const {
  TW_REQUIRE(start_s >= 0 && bits >= 0, "{} bits from {} s on", bits, start_s);
  if (bits == 0) return start_s;
  const auto& [name, steps, duration_s, sent_bits] = *content_;
  const double phase_s = std::fmod(start_s, duration_s);
  const std::size_t first = step_at(phase_s);
  const double room_bits = steps[first].bit_per_s * (step_end_s(first) - phase_s);
  if (bits <= room_bits) return start_s + bits / steps[first].bit_per_s;

  // Bits since the begin of the trace in which the transfer starts. One that fills a trace ends
  // with its last bit, not behind an outage with which the next one begins.
  const double all_bits = sent_bits.back(), until_bits = sent_bits[first] - room_bits + bits;
  double repeats = std::ceil(until_bits / all_bits) - 1;
  if (until_bits <= repeats * all_bits) --repeats;  // where the quotient was rounded up
  const double rest_bits = std::min(until_bits - repeats * all_bits, all_bits);
  const auto found = std::ranges::lower_bound(sent_bits, rest_bits);
  const auto last = static_cast<std::size_t>(found - sent_bits.begin());
  const double unsent_bits = sent_bits[last] - rest_bits;
  const double end_s = start_s - phase_s + repeats * duration_s + step_end_s(last) -
                       (unsent_bits > 0 ? unsent_bits / steps[last].bit_per_s : 0);
  return std::max(start_s, end_s);  // not before, where time is rounded
}

double RateTrace::iteration_start_s(std::int64_t iteration) const {
  constexpr double kGoldenRatio = 0.61803398874989485;
  const double turns = static_cast<double>(iteration) * kGoldenRatio;
  return (turns - std::floor(turns)) * duration_s();
}

std::string RateTrace::fingerprint() const {
  std::string text;
  for (const Step& step : steps()) text += fmt::format("{},{};", step.start_s, step.bit_per_s);
  return to_hex(fnv1a(text));
}

bool RateTrace::operator==(const RateTrace& other) const {
  return content_ == other.content_ ||
         (name() == other.name() && content_->steps == other.content_->steps);
}

RateTrace parse_rate_trace(std::string name, std::string_view text) {
  std::vector<RateTrace::Step> steps;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    try {
      add_line(trim(text.substr(0, end)), steps);
    } catch (const InputError& error) {
      throw InputError(fmt::format("line {}: {}", number, error.what()));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {std::move(name), std::move(steps)};
}

}  // namespace thinwire::fabric
