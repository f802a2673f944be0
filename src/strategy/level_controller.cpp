#include "thinwire/strategy/level_controller.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"

namespace thinwire::strategy {
namespace {

/// Of the least possible time: what a level may take more where nothing is hidden.
constexpr double kTolerance = 1.0 / 8;
/// Of the window: what a level finer than the present one must keep to.
constexpr double kUpward = 7.0 / 8;

int finest_of(const LevelQuestion& question) {
  TW_REQUIRE(!question.bytes.empty(), "a choice among no levels");
  return static_cast<int>(question.bytes.size()) - 1;
}

/// The finest level whose expected_s(level) keeps to its bound; the quickest always does.
///   present  the level in use
template <class ExpectedTime>
int finest_within(const LevelQuestion& question, int present, ExpectedTime&& expected_s) {
  const int finest = finest_of(question);
  double least_s = expected_s(0);
  for (int level = 1; level <= finest; ++level) least_s = std::min(least_s, expected_s(level));
  const double inevitable_s = (1 + kTolerance) * least_s;
  for (int level = finest; level > 0; --level) {
    const double window_s = question.window_s * (level > present ? kUpward : 1);
    if (expected_s(level) <= std::max(window_s, inevitable_s)) return level;
  }
  return 0;
}

}  // namespace

void RateController::observe(const ObservedExchange& exchange) {
  if (exchange.bytes <= 0) return;
  const double sample = std::max(0.0, exchange.duration_s - latency_s_) / exchange.bytes;
  if (seconds_a_byte_ < 0 || sample > seconds_a_byte_)
    seconds_a_byte_ = sample;
  else
    seconds_a_byte_ += (sample - seconds_a_byte_) / 2;
}

int RateController::choose(const LevelQuestion& question) {
  latency_s_ = question.latency_s;
  if (seconds_a_byte_ < 0 || question.window_s < 0) return level_ = 0;
  return level_ = finest_within(question, level_, [&](int level) {
           const double bytes = question.bytes[static_cast<std::size_t>(level)];
           return question.latency_s + seconds_a_byte_ * bytes;
         });
}

void ProbingController::observe(const ObservedExchange& exchange) {
  if (exchange.bytes <= 0 || exchange.level < 0) return;
  const auto level = static_cast<std::size_t>(exchange.level);
  TW_REQUIRE(level < time_s_.size(), "level {} of {}", level, time_s_.size());
  time_s_[level] = exchange.duration_s;
  for (std::size_t other = 0; other < time_s_.size(); ++other)
    if (other < level)
      time_s_[other] = std::min(time_s_[other], exchange.duration_s);
    else
      time_s_[other] = std::max(time_s_[other], exchange.duration_s);
}

int ProbingController::choose(const LevelQuestion& question) {
  const int finest = finest_of(question);
  if (question.window_s < 0) return level_ = 0;
  TW_REQUIRE(finest < static_cast<int>(time_s_.size()), "a choice among {} levels", finest + 1);
  const int fitting = finest_within(
      question, level_, [&](int level) { return time_s_[static_cast<std::size_t>(level)]; });
  if (tried_ >= 0) pause_ = fitting >= tried_ ? kFirstPause : std::min(2 * pause_, kLongestPause);
  tried_ = -1;
  if (fitting < level_) waited_ = 0;
  if (fitting == finest || ++waited_ < pause_) return level_ = fitting;
  waited_ = 0;
  return level_ = tried_ = fitting + 1;
}

std::unique_ptr<LevelController> make_level_controller(LevelControl control) {
  TW_REQUIRE(control != LevelControl::fixed, "no controller chooses a fixed level");
  if (control == LevelControl::adaptive) return std::make_unique<RateController>();
  return std::make_unique<ProbingController>();
}

}  // namespace thinwire::strategy
