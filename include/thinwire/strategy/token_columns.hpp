#pragma once
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>

#include "thinwire/base/error.hpp"
#include "thinwire/model/model_input.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::strategy {

/// What attention must know of key columns that stand for one token each (METHODS 2): the log of
/// the repeat count, 0 or -infinity for padding, and the global position.
class TokenColumns {
 public:
  TokenColumns(Index capacity, std::pmr::memory_resource* memory)
      : log_counts_(1, capacity, memory), positions_(1, capacity, memory) {}

  static constexpr float kHidden = -std::numeric_limits<float>::infinity();
  /// Of padding that may be looked at by who sees nothing else: next to any real token it weighs
  /// nothing, to the last bit.
  static constexpr float kLastResort = -1e30F;

  /// Column i of the first `count` stands for token position_of(i) of `input`; padding has the log
  /// count `padding`. Throws Error when there are more than the capacity.
  template <class PositionOf>
  void describe(Index count, const model::ModelInput& input, PositionOf&& position_of,
                float padding = kHidden) {
    TW_REQUIRE(count <= positions_.cols(), "{} columns where there is room for {}", count,
               positions_.cols());
    count_ = static_cast<std::size_t>(count);
    for (Index column = 0; column < count; ++column) {
      const Index token = position_of(column);
      log_counts_(0, column) = input.is_real(token) ? 0.0F : padding;
      positions_(0, column) = static_cast<std::int32_t>(token);
    }
  }

  Index capacity() const { return positions_.cols(); }
  std::span<const float> log_counts() const { return log_counts_.view().row(0).first(count_); }
  std::span<const std::int32_t> positions() const { return positions_.view().row(0).first(count_); }

 private:
  Matrix<float> log_counts_;        // [1, capacity]
  Matrix<std::int32_t> positions_;  // [1, capacity]
  std::size_t count_ = 0;
};

}  // namespace thinwire::strategy
