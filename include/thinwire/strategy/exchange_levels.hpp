#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/index_coding.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/strategy/level_controller.hpp"

namespace thinwire::strategy {

/// The levels of one device's frames where a LevelController chooses them: what the controller asks
/// for, taken from the fabric, and which level a peer's frame has. Levels whose indices have equal
/// bits are one, the finest: a header tells no more. Windows are expected to be those of the same
/// exchange in the pass before, in proportion to the rows, and until that is known those of the
/// latest exchange.
class ExchangeLevels {
 public:
  ExchangeLevels(LevelControl control, const compress::CodebookSet& codebooks, Index exchanges,
                 int devices);

  /// This device is about to publish `rows` rows in an all-gather as `exchange`, coded or not: what
  /// the fabric reports of the one before is learnt, unless a peer's frame of it told nothing.
  void begin(Index exchange, Index rows, const fabric::Fabric& fabric);
  /// The level of its frame, if that is of indices; `coding`: what they are coded with.
  int choose(const fabric::Fabric& fabric, compress::IndexCoding coding);
  /// Of a peer's frame of `exchange`, from its header. Throws Error that names `sender` for an
  /// empty frame, for what is no header, and for bits that no level has.
  int level_of(Index exchange, std::span<const std::byte> frame, int sender);
  /// Whether a device's frames of two exchanges, which choose() or level_of() have told of, were on
  /// one level.
  bool is_same(Index exchange, Index earlier, int device) const {
    return frames_[place(exchange, device)] == frames_[place(earlier, device)];
  }
  /// A peer's frame of `exchange` did not come, or not enough of it: who knows how long it was.
  void miss(Index exchange);

 private:
  void learn(const fabric::Fabric& fabric);
  std::int64_t expected_bytes(int level, compress::IndexCoding coding, int device) const;
  std::size_t place(Index exchange, int device) const {
    return static_cast<std::size_t>(exchange * devices_ + device);
  }

  const compress::CodebookSet& codebooks_;
  std::vector<int> levels_;  ///< to choose from, which the controller counts from 0; coarsest first
  std::unique_ptr<LevelController> controller_;
  std::vector<double> window_s_a_row_;  // [exchange]; negative: unknown
  std::vector<double> bytes_;           // [levels_] scratch
  int devices_;
  std::vector<int> frames_;  // [exchange * devices + device] the level of each
  double latest_window_s_a_row_ = -1;
  Index published_ = -1, published_rows_ = 0;
  int received_ = -1;       // finest among the peers' frames of exchange published_, in levels_
  bool is_missed_ = false;  // one of them told nothing
};

}  // namespace thinwire::strategy
