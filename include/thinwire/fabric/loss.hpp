#pragma once
#include <cstdint>
#include <string_view>

#include "thinwire/base/random.hpp"

namespace thinwire::fabric {

/// What becomes of a packet that a link has lost.
enum class OnLoss {
  retransmit,  ///< it is sent again until it arrives: time, not data
  skip,        ///< it never arrives: attention does without the tokens that it was about
  reuse,       ///< it never arrives: what the exchange before said of those tokens stands in
};
OnLoss parse_on_loss(std::string_view name);  // InputError with the known names
std::string_view to_string(OnLoss policy);

/// Losses of a link: every packet is lost with the same probability, independently of the others.
/// Who asks draws the same everywhere, without a message: a draw is a hash of the seed, of what
/// the message is and of the packet's number, not the next one of a sequence. A formula header.
struct Loss {
  double probability = 0;  ///< 0 .. below 1
  OnLoss policy = OnLoss::retransmit;
  std::uint64_t seed = 0;

  bool repeats() const { return probability > 0 && policy == OnLoss::retransmit; }
  bool drops() const { return probability > 0 && policy != OnLoss::retransmit; }
  /// Expected transmissions of a packet until all of `receivers` have it; 1 where none is repeated.
  double mean_transmissions(int receivers) const;
  bool operator==(const Loss&) const = default;
};

/// An exchange of one inference, told apart from all others of a run.
struct ExchangeNumber {
  std::uint64_t inference = 0;
  std::uint64_t exchange = 0;
};

/// The losses of one message on its way to one receiver.
class MessageLosses {
 public:
  MessageLosses(const Loss& loss, ExchangeNumber number, int from, int to);

  /// Whether the first transmission of `packet` is lost.
  bool is_lost(std::int64_t packet) const { return draw(packet) < probability_; }
  /// Transmissions until it arrives, 1 or more: k with probability (1 - p) p^(k - 1).
  int transmissions(std::int64_t packet) const;

 private:
  /// Uniform in [0, 1), a multiple of 2^-53.
  double draw(std::int64_t packet) const;

  double probability_;
  RandomStream packets_;
};

}  // namespace thinwire::fabric
