#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/units.hpp"

namespace thinwire::fabric {

/// How a link's rate changes: piecewise constant, and from its end on the same again. The last
/// step is as long as the one before it, so that samples at equal distances last equally long.
/// A value whose copies share the steps. A formula header: no MPI, no I/O.
class RateTrace {
 public:
  struct Step {
    double start_s = 0;    ///< until the next step's
    double bit_per_s = 0;  ///< 0: the link is down
    bool operator==(const Step&) const = default;
  };

  /// Throws InputError unless there are two steps or more, the first at 0, each after the one
  /// before it, rates finite and not negative, one of them above 0.
  ///   name  what records call it: its file's name without the path
  RateTrace(std::string name, std::vector<Step> steps);

  const std::string& name() const { return content_->name; }
  std::span<const Step> steps() const { return content_->steps; }
  /// Until it repeats.
  double duration_s() const { return content_->duration_s; }
  /// Of the whole trace, the time in which the link is down included.
  Rate mean_rate() const;
  /// The rate at any time from 0 on.
  double bit_per_s_at(double time_s) const;
  /// When the last of `bits` that begin to leave at `start_s` (0 or later) has left: the exact
  /// integral over the steps. Cost: the logarithm of their number.
  double end_s(double start_s, double bits) const;
  /// Where iteration `i` begins in the trace: at the fraction of i times the golden ratio. The
  /// first iteration begins at 0; however many there are, they are spread evenly over the trace
  /// and out of step with anything periodic in it. It depends on nothing but `i`, so that whatever
  /// is compared meets the same conditions.
  double iteration_start_s(std::int64_t iteration) const;
  /// Of the steps: 16 hex digits.
  std::string fingerprint() const;

  bool operator==(const RateTrace& other) const;

 private:
  struct Content {
    std::string name;
    std::vector<Step> steps;
    double duration_s = 0;
    std::vector<double> sent_bits;  // [step] by its end, since the trace's begin
  };
  std::size_t step_at(double phase_s) const;
  double step_end_s(std::size_t step) const;

  std::shared_ptr<const Content> content_;
};

/// Lines of "time, rate" such as "1.5 s, 10 Mbps" (a bare 0 needs no unit); a first line
/// "time, rate", empty lines and lines that begin with # are passed over.
/// Throws InputError that begins with the line where one is wrong.
RateTrace parse_rate_trace(std::string name, std::string_view text);

}  // namespace thinwire::fabric
