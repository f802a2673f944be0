#pragma once
#include <array>
#include <memory>
#include <span>
#include <string_view>

namespace thinwire::strategy {

/// Who chooses the level of a codebook's hierarchy, exchange by exchange.
enum class LevelControl {
  fixed,     ///< nobody: one level a run
  adaptive,  ///< RateController
  probing,   ///< ProbingController
};
/// "adaptive" and "probing"; whatever else a level may be called leaves it fixed.
LevelControl parse_level_control(std::string_view name);
std::string_view to_string(LevelControl control);

/// What became of an exchange, as a device has measured it. Bytes are those on the link, packet
/// headers included.
struct ObservedExchange {
  int level = -1;         ///< of the finest frame that came; -1: rows came, as they are
  double bytes = 0;       ///< of the longest message that came; 0: none did
  double duration_s = 0;  ///< fabric::TransferReport::duration_s
};

/// What a device knows before it publishes.
struct LevelQuestion {
  /// [level] expected of its message if it sent at that level, coarsest first, not empty. Where
  /// indices are coded a finer level may take less than a coarser one.
  std::span<const double> bytes;
  double latency_s = 0;  ///< the link's, as stated; 0 where nobody states it
  /// Local work expected between publishing and waiting; negative: unknown as yet.
  double window_s = -1;
};

/// Chooses the level of every message so that its transfer stays hidden behind local work: the
/// finest level m whose expected time t_m keeps to
///     t_m <= max(W, (1 + 1/8) t_min)
/// W: the window; t_min: the least of these times, mostly the coarsest level's. The first bound is
/// the overlap law's (an exchange costs max(t, W) - W; TRACE, section IV; ACCOUNTING 3). The second
/// is for links that nothing hides: there a level may take an eighth more than the least possible,
/// so that latency which no level avoids does not cost accuracy for nothing. A level finer than the
/// present one must keep to 7/8 of W, lest measurements that vary a little change the level at
/// every exchange. While nothing is known the coarsest level is chosen, as TCP starts slowly: the
/// first message tells the rate, and costs the least time on any link. One object a device and
/// sample; no allocation after construction; pure.
class LevelController {
 public:
  virtual ~LevelController() = default;
  virtual void observe(const ObservedExchange& exchange) = 0;
  virtual int choose(const LevelQuestion& question) = 0;
};

/// Expects t_m = latency + s b_m, from an estimate s of the seconds a byte takes:
///     sample (duration - latency) / bytes;  s = sample if that is more, else s + (sample - s) / 2
/// so that a drop of the rate counts at once and a rise in part, as TCP's estimate of a round trip
/// trusts the worse news more (RFC 6298, whose deviation is zero where rates vary slower than
/// exchanges). The stated latency is taken off because a coarse message tells little about the
/// rate: with it unknown, a link of high latency looks slow to a device that sends little.
class RateController final : public LevelController {
 public:
  void observe(const ObservedExchange& exchange) override;
  int choose(const LevelQuestion& question) override;

 private:
  double latency_s_ = 0;  // as last stated
  double seconds_a_byte_ = -1;
  int level_ = -1;
};

/// Knows no rate and no latency: it keeps, for every level, the time that the last exchange took at
/// it. A finer level takes no less time, so that a measurement also bounds the times of the others.
/// The level above the chosen one is tried now and then: kFirstPause choices after it was last
/// found too slow, twice as many after each failure, up to kLongestPause.
/// Source: the join experiments of receiver-driven layered multicast (McCanne, Jacobson and
/// Vetterli, SIGCOMM 1996), with a table of what each setting gave as Minstrel has for Wi-Fi.
class ProbingController final : public LevelController {
 public:
  static constexpr int kFirstPause = 4, kLongestPause = 64;

  void observe(const ObservedExchange& exchange) override;
  int choose(const LevelQuestion& question) override;

 private:
  std::array<double, 17> time_s_{};  // [level]; unknown ones take none
  int level_ = -1;
  int tried_ = -1;  // level above the chosen one that the last choice tried
  int pause_ = kFirstPause, waited_ = 0;
};

/// Throws Error for LevelControl::fixed, which needs none.
std::unique_ptr<LevelController> make_level_controller(LevelControl control);

}  // namespace thinwire::strategy
