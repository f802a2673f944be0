#include "thinwire/ops/kv_context.hpp"

#include <algorithm>

namespace thinwire::ops {

KvContext::KvContext(Index capacity, Index hidden, std::pmr::memory_resource* memory)
    : kv_(capacity, 2 * hidden, memory),
      log_counts_(1, capacity, memory),
      last_(1, capacity, memory) {}

MatrixView<float> KvContext::append(std::span<const float> log_counts,
                                    std::span<const std::int32_t> last) {
  const Index added = std::ssize(log_counts);
  TW_REQUIRE(std::ssize(last) == added, "{} repeat counts and {} positions", added, last.size());
  TW_REQUIRE(columns_ + added <= capacity(), "{} columns behind {} in a context for {}", added,
             columns_, capacity());
  std::ranges::copy(log_counts, log_counts_.view().data() + columns_);
  std::ranges::copy(last, last_.view().data() + columns_);
  const MatrixView<float> rows = kv_.view().rows(columns_, added);
  columns_ += added;
  return rows;
}

std::span<const float> KvContext::log_counts() const {
  return {log_counts_.view().data(), static_cast<std::size_t>(columns_)};
}

std::span<const std::int32_t> KvContext::last() const {
  return {last_.view().data(), static_cast<std::size_t>(columns_)};
}

}  // namespace thinwire::ops
