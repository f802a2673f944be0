#pragma once
#include <memory>
#include <span>
#include <vector>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/index_frame.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/strategy/level_controller.hpp"

namespace thinwire::strategy {

/// The levels of one device's frames where a LevelController chooses them: what the controller asks
/// for, taken from the fabric, and which level a peer's frame has. Windows are expected to be those
/// of the same exchange in the pass before, in proportion to the rows, and until that is known
/// those of the latest exchange.
class ExchangeLevels {
 public:
  ExchangeLevels(LevelControl control, const compress::CodebookSet& codebooks, Index exchanges);

  /// This device is about to publish `rows` rows in an all-gather as `exchange`, coded or not: what
  /// the fabric reports of the one before is learnt.
  void begin(Index exchange, Index rows, const fabric::Fabric& fabric);
  /// The level of its frame, if it is coded.
  int choose(const fabric::Link& link);
  /// The format of a peer's frame of `exchange`, from the bits that its header tells: levels of
  /// equal bits are one to a receiver. Throws Error that names `sender` for an empty frame and for
  /// bits that no level has.
  compress::FrameFormat format_of(Index exchange, std::span<const std::byte> frame, int sender);

 private:
  void learn(const fabric::Fabric& fabric);

  const compress::CodebookSet& codebooks_;
  std::unique_ptr<LevelController> controller_;
  std::vector<double> window_s_a_row_;  // [exchange]; negative: unknown
  std::vector<double> bytes_;           // [level] scratch
  double latest_window_s_a_row_ = -1;
  Index published_ = -1, published_rows_ = 0;
  int received_ = -1;  // finest level among the peers' frames of exchange published_
};

}  // namespace thinwire::strategy
