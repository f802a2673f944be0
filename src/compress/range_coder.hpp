#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace thinwire::compress {

// A range coder whose interval has 64 bits: [low, low + range) shrinks to the part of each symbol,
// and its leading byte leaves once the range is below 2^56. The code is the shortest string of
// bytes inside the last interval, read as a binary fraction and zero bytes behind the end; of
// several the smallest. So every sequence has one code, and a decoder can tell it from all other
// strings.

constexpr std::uint64_t kWholeRange = std::numeric_limits<std::uint64_t>::max();
constexpr int kTopShift = 56;
constexpr std::uint64_t kLeastRange = std::uint64_t{1} << kTopShift;

class RangeEncoder {
 public:
  explicit RangeEncoder(std::span<std::byte> room) : room_(room) {}

  /// A symbol with frequencies [first, first + frequency) of `total`, which is below 2^41.
  void encode(std::uint64_t first, std::uint64_t frequency, std::uint64_t total) {
    const std::uint64_t unit = range_ / total;
    add(unit * first);
    // The last symbol takes what the division leaves.
    range_ = first + frequency < total ? unit * frequency : range_ - unit * first;
    for (; range_ < kLeastRange; range_ <<= 8) shift();
  }

  /// Whether the code has outgrown its room; nothing was written outside.
  bool is_full() const { return size_ > room_.size(); }

  /// Ends the code and returns its bytes.
  std::size_t finish() {
    // Up to the next number that ends here; else with one byte more there always is one.
    if (0 - low_ < range_) {
      add(0 - low_);
    } else {
      add((0 - low_) % kLeastRange);
      shift();
    }
    if (is_full()) return size_;
    while (size_ > 0 && room_[size_ - 1] == std::byte{0}) --size_;
    return size_;
  }

 private:
  void add(std::uint64_t amount) {
    low_ += amount;
    if (low_ >= amount || is_full()) return;
    for (std::size_t i = size_; i-- > 0;) {  // carry
      room_[i] = static_cast<std::byte>(std::to_integer<unsigned>(room_[i]) + 1);
      if (room_[i] != std::byte{0}) break;
    }
  }

  void shift() {
    if (size_ < room_.size()) room_[size_] = static_cast<std::byte>(low_ >> kTopShift);
    size_ = std::min(size_ + 1, room_.size() + 1);
    low_ <<= 8;
  }

  std::span<std::byte> room_;
  std::size_t size_ = 0;
  std::uint64_t low_ = 0, range_ = kWholeRange;
};

class RangeDecoder {
 public:
  explicit RangeDecoder(std::span<const std::byte> code) : code_(code) {
    for (int i = 0; i < 8; ++i) offset_ = offset_ << 8 | next();
    // The one offset outside the first interval; no encoder writes it, is_exact() refuses it.
    if (offset_ == kWholeRange) is_outside_ = true;
  }

  /// Which of `total` frequencies comes next; below 2^41.
  std::uint64_t target(std::uint64_t total) {
    unit_ = range_ / total;
    return std::min(offset_ / unit_, total - 1);
  }

  /// Takes the symbol that target() lies in, as it was encoded.
  void take(std::uint64_t first, std::uint64_t frequency, std::uint64_t total) {
    offset_ -= unit_ * first;
    range_ = first + frequency < total ? unit_ * frequency : range_ - unit_ * first;
    for (; range_ < kLeastRange; range_ <<= 8, ++shifts_) offset_ = offset_ << 8 | next();
  }

  /// Whether an encoder of the symbols taken that has this many bytes of room writes exactly this
  /// code.
  bool is_exact(std::size_t room) const {
    if (is_outside_ || code_.size() > shifts_ + 1) return false;
    if (std::max(code_.size(), shifts_) > room) return false;  // zero bytes at the end count, too
    if (code_.empty()) return true;
    const auto last = std::to_integer<std::uint64_t>(code_.back());
    if (last == 0) return false;
    // Bytes that had left before the end are the only ones inside the interval. One byte more
    // has to be the least that is, and needed: the next number without it is outside.
    return code_.size() <= shifts_ ||
           (offset_ < kLeastRange && offset_ + ((256 - last) << kTopShift) >= range_);
  }

 private:
  std::uint64_t next() {
    return position_ < code_.size() ? std::to_integer<std::uint64_t>(code_[position_++]) : 0;
  }

  std::span<const std::byte> code_;
  std::size_t position_ = 0, shifts_ = 0;
  std::uint64_t offset_ = 0, range_ = kWholeRange, unit_ = 1;
  bool is_outside_ = false;
};

}  // namespace thinwire::compress
