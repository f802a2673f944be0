#include "thinwire/strategy/exchange_levels.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"
#include "thinwire/strategy/trace_format.hpp"

namespace thinwire::strategy {
namespace {

constexpr int kBitsOfHeader = 0x1f;  // the others tell the coding

}  // namespace

ExchangeLevels::ExchangeLevels(LevelControl control, const compress::CodebookSet& codebooks,
                               Index exchanges)
    : codebooks_(codebooks),
      controller_(make_level_controller(control)),
      window_s_a_row_(static_cast<std::size_t>(exchanges), -1.0),
      bytes_(codebooks.levels().size()) {}

void ExchangeLevels::begin(Index exchange, Index rows, const fabric::Fabric& fabric) {
  if (published_ >= 0) learn(fabric);
  published_ = exchange;
  published_rows_ = rows;
  received_ = -1;
}

int ExchangeLevels::choose(const fabric::Link& link) {
  for (std::size_t level = 0; level < bytes_.size(); ++level) {
    const int bits = trace_format(codebooks_, static_cast<int>(level)).bits;
    bytes_[level] = static_cast<double>(
        link.bytes_on_link(compress::frame_size(published_rows_, bits, true).bytes()));
  }
  const double known = window_s_a_row_[static_cast<std::size_t>(published_)];
  const double window_s_a_row = known >= 0 ? known : latest_window_s_a_row_;
  return controller_->choose({.bytes = bytes_,
                              .latency_s = link.latency.value_s(),
                              .window_s = window_s_a_row * static_cast<double>(published_rows_)});
}

/// What this device published last has been waited for since.
void ExchangeLevels::learn(const fabric::Fabric& fabric) {
  const fabric::TransferReport& transfer = fabric.last_transfer();
  controller_->observe(
      {.level = received_,
       .bytes = static_cast<double>(fabric.link().bytes_on_link(transfer.longest_bytes)),
       .duration_s = transfer.duration_s});
  if (published_rows_ == 0) return;
  latest_window_s_a_row_ = transfer.window_s / static_cast<double>(published_rows_);
  window_s_a_row_[static_cast<std::size_t>(published_)] = latest_window_s_a_row_;
}

compress::FrameFormat ExchangeLevels::format_of(Index exchange, std::span<const std::byte> frame,
                                                int sender) {
  TW_REQUIRE(!frame.empty(), "the frame of device {} is empty", sender);
  const int bits = std::to_integer<int>(frame.front()) & kBitsOfHeader;
  for (int level = static_cast<int>(bytes_.size()) - 1; level >= 0; --level) {
    const compress::FrameFormat format = trace_format(codebooks_, level);
    if (format.bits != bits) continue;
    if (exchange == published_) received_ = std::max(received_, level);
    return format;
  }
  throw Error(fmt::format("the frame of device {} says {} bits an index, which no level has",
                          sender, bits));
}

}  // namespace thinwire::strategy
