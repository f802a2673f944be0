#include "thinwire/harness/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "thinwire/base/units.hpp"

namespace thinwire::harness {
namespace {

constexpr double kQuietSeconds = 2;      // a run that is over by then needs no progress
constexpr double kRefreshSeconds = 0.2;  // of the terminal's line

double steady_s() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_boot).count();
}

void print(std::FILE* stream, const std::string& text) {
  std::fputs(text.c_str(), stream);
  std::fflush(stream);
}

}  // namespace

Progress::Output Progress::standard_error() {
  return {.stream = stderr, .is_terminal = ::isatty(STDERR_FILENO) == 1, .now_s = steady_s};
}

Progress::Progress(std::vector<double> weights, Output output)
    : weights_(std::move(weights)), output_(std::move(output)), start_s_(output_.now_s()) {
  total_work_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
}

Progress::~Progress() {
  if (is_line_open_) print(output_.stream, "\n");
}

void Progress::start_point(std::string label) {
  label_ = std::move(label);
  part_ = 0;
  show(false);
}

void Progress::advance(double part) {
  part_ = std::clamp(part, 0.0, 1.0);
  show(false);
}

void Progress::finish_point() {
  finished_work_ += weights_.at(finished_++);
  part_ = 0;
  show(true);
}

void Progress::skip_point() {
  skipped_work_ += weights_.at(finished_++);
}

double Progress::work_done() const {
  const double current = finished_ < weights_.size() ? part_ * weights_[finished_] : 0;
  return finished_work_ + current;
}

std::string Progress::line(double now_s) const {
  const std::size_t point = std::min(finished_ + (part_ > 0 ? 1 : 0), weights_.size());
  const double done = work_done();
  const double share = total_work_ > 0 ? (skipped_work_ + done) / total_work_ : 1;
  std::string left = "time left unknown";
  if (done > 0) {
    const double remaining = total_work_ - skipped_work_ - done;
    const double left_s = (now_s - start_s_) * remaining / done;
    left = fmt::format("{} left", to_string(Seconds(std::max(0.0, left_s))));
  }
  return fmt::format("[{}/{}] {:.0f} %, {}: {}", point, weights_.size(), 100 * share, left, label_);
}

void Progress::show(bool is_point_end) {
  const double now_s = output_.now_s();
  const bool is_quiet = now_s - start_s_ < kQuietSeconds;
  if (!output_.is_terminal) {
    if (!is_point_end) return;
    held_back_ += line(now_s) + "\n";
    if (is_quiet) return;
    print(output_.stream, std::exchange(held_back_, {}));
    return;
  }
  if (is_quiet || (!is_point_end && now_s - shown_s_ < kRefreshSeconds)) return;
  shown_s_ = now_s;
  is_line_open_ = true;
  print(output_.stream, fmt::format("\r{}\x1b[K", line(now_s)));  // and clear the rest of the line
}

}  // namespace thinwire::harness
