#include "thinwire/strategy/exchange_levels.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"
#include "thinwire/compress/coded_frame.hpp"
#include "thinwire/compress/index_tables.hpp"
#include "thinwire/strategy/trace_format.hpp"

namespace thinwire::strategy {
namespace {

using compress::IndexCoding;

int bits_of(const compress::CodebookSet& codebooks, int level) {
  return trace_format(codebooks, level).bits;
}

/// The finest level of every number of bits, coarsest first.
std::vector<int> distinct_levels(const compress::CodebookSet& codebooks) {
  std::vector<int> levels;
  const int finest = static_cast<int>(codebooks.levels().size()) - 1;
  for (int level = 0; level <= finest; ++level)
    if (level == finest || bits_of(codebooks, level + 1) > bits_of(codebooks, level))
      levels.push_back(level);
  return levels;
}

}  // namespace

ExchangeLevels::ExchangeLevels(LevelControl control, const compress::CodebookSet& codebooks,
                               Index exchanges, int devices)
    : codebooks_(codebooks),
      levels_(distinct_levels(codebooks)),
      controller_(make_level_controller(control)),
      window_s_a_row_(static_cast<std::size_t>(exchanges), -1.0),
      bytes_(levels_.size()),
      devices_(devices),
      frames_(static_cast<std::size_t>(exchanges * devices), -1) {}

void ExchangeLevels::begin(Index exchange, Index rows, const fabric::Fabric& fabric) {
  if (published_ >= 0) learn(fabric);
  published_ = exchange;
  published_rows_ = rows;
  received_ = -1;
  is_missed_ = false;
}

int ExchangeLevels::choose(const fabric::Fabric& fabric, IndexCoding coding) {
  const fabric::Link& link = fabric.link();
  for (std::size_t i = 0; i < levels_.size(); ++i)
    bytes_[i] = static_cast<double>(
        link.bytes_on_link(expected_bytes(levels_[i], coding, fabric.device())));
  const double known = window_s_a_row_[static_cast<std::size_t>(published_)];
  const double window_s_a_row = known >= 0 ? known : latest_window_s_a_row_;
  const int choice =
      controller_->choose({.bytes = bytes_,
                           .latency_s = link.latency.value_s(),
                           .window_s = window_s_a_row * static_cast<double>(published_rows_)});
  return frames_[place(published_, fabric.device())] = levels_[static_cast<std::size_t>(choice)];
}

/// Of the own frame.
std::int64_t ExchangeLevels::expected_bytes(int level, IndexCoding coding, int device) const {
  const int bits = bits_of(codebooks_, level);
  if (coding == IndexCoding::fixed)
    return compress::frame_size(published_rows_, bits, true).bytes();
  if (coding == IndexCoding::cross_layer && level != frames_[place(published_ - 1, device)])
    coding = IndexCoding::entropy;
  const compress::IndexTables& tables = codebooks_.index_tables(published_, level).front();
  return compress::expected_frame_size(published_rows_, bits,
                                       compress::index_cost(tables, coding).expected_bits)
      .bytes();
}

/// What this device published last has been waited for since.
void ExchangeLevels::learn(const fabric::Fabric& fabric) {
  const fabric::TransferReport& transfer = fabric.last_transfer();
  if (!is_missed_)
    controller_->observe(
        {.level = received_,
         .bytes = static_cast<double>(fabric.link().bytes_on_link(transfer.longest_bytes)),
         .duration_s = transfer.duration_s});
  if (published_rows_ == 0) return;
  latest_window_s_a_row_ = transfer.window_s / static_cast<double>(published_rows_);
  window_s_a_row_[static_cast<std::size_t>(published_)] = latest_window_s_a_row_;
}

int ExchangeLevels::level_of(Index exchange, std::span<const std::byte> frame, int sender) {
  const int bits = compress::read_frame_header(frame, sender).bits;
  const auto found =
      std::ranges::find(levels_, bits, [&](int level) { return bits_of(codebooks_, level); });
  TW_REQUIRE(found != levels_.end(),
             "the frame of device {} says {} bits an index, which no level has", sender, bits);
  if (exchange == published_)
    received_ = std::max(received_, static_cast<int>(found - levels_.begin()));
  return frames_[place(exchange, sender)] = *found;
}

void ExchangeLevels::miss(Index exchange) {
  is_missed_ |= exchange == published_;
}

}  // namespace thinwire::strategy
