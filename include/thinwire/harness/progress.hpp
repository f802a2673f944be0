#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace thinwire::harness {

/// How far a sweep is, on stderr: one line that is updated in place on a terminal, one line a point
/// in a log, and nothing when everything takes under two seconds.
class Progress {
 public:
  struct Output {
    std::FILE* stream = stderr;
    bool is_terminal = false;
    std::function<double()> now_s;  ///< a steady clock
  };
  static Output standard_error();

  /// weights  expected work of each point in any unit (operations times iterations); what remains
  ///          is estimated from what the finished ones took
  explicit Progress(std::vector<double> weights, Output output = standard_error());
  Progress(const Progress&) = delete;
  ~Progress();

  /// The next point begins.
  void start_point(std::string label);
  /// A part (0 to 1) of the current point is done.
  void advance(double part);
  void finish_point();
  /// A point that need not run (finished before, cannot fit) takes no time and counts as done.
  void skip_point();

 private:
  double work_done() const;
  std::string line(double now_s) const;
  void show(bool is_point_end);

  std::vector<double> weights_;
  Output output_;
  double start_s_;
  double shown_s_ = -1;       ///< when the terminal's line was last written
  std::size_t finished_ = 0;  ///< points, skipped ones included
  double skipped_work_ = 0, finished_work_ = 0, total_work_ = 0;
  double part_ = 0;  ///< of the current point
  std::string label_;
  std::string held_back_;  ///< log lines of the first two seconds
  bool is_line_open_ = false;
};

}  // namespace thinwire::harness
