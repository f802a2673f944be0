#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thinwire/base/random.hpp"
#include "thinwire/compress/coded_frame.hpp"

namespace thinwire::test {

/// Frames of indices that nobody wrote, there and back, whole and broken. Seeded: a trial that
/// fails can be run again.
class FrameTrials {
 public:
  explicit FrameTrials(std::uint64_t seed);

  /// One frame: coded, decoded, broken, decoded again. Throws Error that says what went wrong.
  void run_one();

  std::int64_t runs = 0, coded = 0, fixed = 0;  ///< what encoders chose
  std::int64_t refused = 0, accepted = 0;       ///< broken frames, with indices of their own

 private:
  struct Setting {
    compress::FrameFormat format;
    Index contexts = 2;
    std::vector<compress::IndexTables> tables;  // one a group
    std::int32_t rarest = 0, commonest = 0;
  };
  using Indices = std::vector<std::int32_t>;

  std::uint64_t below(std::uint64_t limit) { return random_.bits(next_++) % limit; }
  static Setting make_setting(Index codewords, Index contexts, std::size_t groups, int frames);
  Indices draw(const Setting& setting, std::size_t count, const Indices& known);
  std::vector<std::byte> damage(std::vector<std::byte> frame);

  RandomStream random_;
  std::uint64_t next_ = 0;
  std::vector<Setting> settings_;
};

}  // namespace thinwire::test
