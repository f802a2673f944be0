#include "thinwire/compress/coded_frame.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "index_model.hpp"
#include "range_coder.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

constexpr int kCodingShift = 5;
constexpr unsigned kBitsMask = 0x1F;

std::byte header_of(const FrameFormat& format, IndexCoding coding) {
  return static_cast<std::byte>(static_cast<unsigned>(format.bits) | static_cast<unsigned>(coding)
                                                                         << kCodingShift);
}

/// A frame that may be coded has a header to say so.
FrameFormat with_header(FrameFormat format) {
  format.has_header = true;
  return format;
}

/// What a frame that is not fixed is coded by.
IndexCoding coding_of(IndexCoding wanted, const KnownIndices& known) {
  return known.previous.empty() ? IndexCoding::entropy : wanted;
}

void check(std::span<const std::int32_t> indices, const KnownIndices& known,
           std::span<const IndexTables> tables, const FrameFormat& format) {
  TW_REQUIRE(!tables.empty() && indices.size() % tables.size() == 0,
             "tables of {} groups for {} indices", tables.size(), indices.size());
  for (const IndexTables& group : tables)
    TW_REQUIRE(group.codewords() == format.codewords, "tables of {} codewords for a level of {}",
               group.codewords(), format.codewords);
  for (const std::span<const std::int32_t> span : {known.previous, known.earlier}) {
    if (span.empty()) continue;
    TW_REQUIRE(span.size() == indices.size(), "{} known indices for {}", span.size(),
               indices.size());
    std::uint32_t most = 0;  // a negative index is a large one
    for (const std::int32_t index : span) most = std::max(most, static_cast<std::uint32_t>(index));
    TW_REQUIRE(most < static_cast<std::uint32_t>(tables.front().contexts()),
               "known index {} of {} codewords", static_cast<std::int32_t>(most),
               tables.front().contexts());
  }
}

/// One index after the other, encoder and decoder alike: the successors of what is known best, then
/// those of the neighbour, then all indices alone. A step is skipped where there is no such list.
template <class Steps>
void walk(const TableLayout& tables, const IndexContext& context, Steps&& steps) {
  SuccessorFrequencies successors;
  if (find_successors(tables, Family::previous, context, true, successors) &&
      steps.is_successor(successors))
    return;
  if (find_successors(tables, Family::neighbour, context, false, successors) &&
      steps.is_successor(successors))
    return;
  steps.alone();
}

struct EncodeSteps {
  RangeEncoder& encoder;
  std::span<const std::uint32_t> sums;
  std::uint16_t index;

  bool is_successor(const SuccessorFrequencies& successors) {
    std::uint16_t place = kLanes;
#pragma omp simd reduction(min : place)
    for (std::uint16_t i = 0; i < kLanes; ++i)
      place = successors.lanes[i] == index ? std::min(place, i) : place;
    const bool is_listed = place < successors.size();
    if (!is_listed) place = static_cast<std::uint16_t>(successors.size());
    std::uint32_t first = 0;
#pragma omp simd reduction(+ : first)
    for (std::uint16_t i = 0; i < kLanes; ++i) first += i < place ? successors.frequencies[i] : 0;
    encoder.encode(first, successors.frequencies[place], successors.total);
    return is_listed;
  }
  void alone() {
    encoder.encode(sums[index], sums[index + std::size_t{1}] - sums[index], sums.back());
  }
};

struct DecodeSteps {
  RangeDecoder& decoder;
  std::span<const std::uint32_t> sums;
  std::int32_t index = 0;
  std::array<std::span<const std::uint16_t>, 2> escaped = {};  ///< lists that it is not in
  std::size_t escapes = 0;

  bool is_successor(const SuccessorFrequencies& successors) {
    const std::uint64_t target = decoder.target(successors.total);
    std::uint64_t first = 0;
    std::size_t place = 0;
    while (first + successors.frequencies[place] <= target)
      first += successors.frequencies[place++];
    decoder.take(first, successors.frequencies[place], successors.total);
    if (place == successors.size()) {
      escaped[escapes++] = successors.indices;
      return false;
    }
    index = successors.indices[place];
    return true;
  }
  void alone() {
    const std::uint64_t target = decoder.target(sums.back());
    std::size_t place = 0;  // the last sum up to the target, again without a branch
    for (std::size_t step = std::bit_floor(sums.size()); step > 0; step /= 2) {
      const std::size_t next = place + step;
      place = next < sums.size() - 1 && sums[next] <= target ? next : place;
    }
    index = static_cast<std::int32_t>(place);
    decoder.take(sums[place], sums[place + 1] - sums[place], sums.back());
  }
  /// No encoder escapes from a list that the index is in.
  bool is_exact() const {
    return std::ranges::none_of(std::span(escaped).first(escapes), [&](const auto& list) {
      return std::ranges::find(list, index) != list.end();
    });
  }
};

/// Bytes that a code may have: with its header one fewer than the fixed frame, or none.
std::size_t code_room(std::int64_t fixed_bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(fixed_bytes - 2, 0));
}

/// Where the tables of an index's group lie; a sole group's are found once a frame.
class Layouts {
 public:
  explicit Layouts(std::span<const IndexTables> tables)
      : tables_(tables), first_(tables.front().words()) {}
  /// Until the next call.
  const TableLayout& of(std::size_t group) {
    return group == 0 ? first_ : other_.emplace(tables_[group].words());
  }

 private:
  std::span<const IndexTables> tables_;
  TableLayout first_;
  std::optional<TableLayout> other_;
};

/// What the frame's coding leaves of what is known.
IndexContext limit(IndexContext context, IndexCoding coding) {
  if (coding != IndexCoding::cross_layer) context.previous = context.earlier = -1;
  return context;
}

/// Bytes of the code in `room`, more than there are if it has none.
std::size_t encode(std::span<const std::int32_t> indices, const KnownIndices& known,
                   std::span<const IndexTables> tables, IndexCoding coding,
                   std::span<std::byte> room) {
  RangeEncoder encoder(room);
  Layouts layouts(tables);
  std::size_t group = 0;
  for (std::size_t i = 0; i < indices.size() && !encoder.is_full(); ++i) {
    walk(layouts.of(group), limit(context_of(indices, known, i, tables.size()), coding),
         EncodeSteps{encoder, tables[group].sums(), static_cast<std::uint16_t>(indices[i])});
    group = group + 1 < tables.size() ? group + 1 : 0;
  }
  return encoder.finish();
}

}  // namespace

FrameHeader read_frame_header(std::span<const std::byte> frame, int sender) {
  TW_REQUIRE(!frame.empty(), "the frame of device {} is empty", sender);
  const auto header = std::to_integer<unsigned>(frame.front());
  const int bits = static_cast<int>(header & kBitsMask);
  const unsigned coding = header >> kCodingShift;
  TW_REQUIRE(bits >= 1 && bits <= 16 && coding <= static_cast<unsigned>(IndexCoding::cross_layer),
             "the frame of device {} begins with {}, which is no header", sender, header);
  return {.bits = bits, .coding = static_cast<IndexCoding>(coding)};
}

std::int64_t worst_frame_bytes(Index count, const FrameFormat& format, IndexCoding coding) {
  return frame_size(count, format.bits, coding != IndexCoding::fixed || format.has_header).bytes();
}

std::int64_t encode_frame(std::span<const std::int32_t> indices, const KnownIndices& known,
                          std::span<const IndexTables> tables, const FrameFormat& format,
                          IndexCoding coding, std::span<std::byte> frame) {
  const std::int64_t most = worst_frame_bytes(std::ssize(indices), format, coding);
  TW_REQUIRE(std::ssize(frame) >= most, "room of {} bytes for a frame of up to {}", frame.size(),
             most);
  frame = frame.first(static_cast<std::size_t>(most));
  if (coding == IndexCoding::fixed) {
    pack_indices(indices, format, frame);
    return most;
  }
  check(indices, known, tables, format);
  const IndexCoding used = coding_of(coding, known);
  const std::size_t room = code_room(most);
  if (room > 0) {
    const std::size_t bytes = encode(indices, known, tables, used, frame.subspan(1, room));
    if (bytes <= room) {
      frame.front() = header_of(format, used);
      return static_cast<std::int64_t>(1 + bytes);
    }
  }
  pack_indices(indices, with_header(format), frame);
  return most;
}

void decode_frame(std::span<const std::byte> frame, const KnownIndices& known,
                  std::span<const IndexTables> tables, const FrameFormat& format,
                  IndexCoding coding, int sender, std::span<std::int32_t> indices) {
  if (coding == IndexCoding::fixed) return unpack_indices(frame, format, sender, indices);
  check(indices, known, tables, format);
  const FrameHeader header = read_frame_header(frame, sender);
  if (header.coding == IndexCoding::fixed)
    return unpack_indices(frame, with_header(format), sender, indices);
  TW_REQUIRE(header.bits == format.bits,
             "the frame of device {} says {} bits an index instead of {}", sender, header.bits,
             format.bits);
  TW_REQUIRE(header.coding == coding_of(coding, known),
             "the frame of device {} says index coding {} instead of {}", sender,
             to_string(header.coding), to_string(coding_of(coding, known)));
  const std::int64_t most = worst_frame_bytes(std::ssize(indices), format, coding);
  TW_REQUIRE(std::ssize(frame) < most,
             "the coded frame of device {} has {} bytes, no fewer than a fixed one", sender,
             frame.size());
  RangeDecoder decoder(frame.subspan(1));
  Layouts layouts(tables);
  bool is_exact = true;
  std::size_t group = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    DecodeSteps steps{decoder, tables[group].sums()};
    walk(layouts.of(group), limit(context_of(indices, known, i, tables.size()), header.coding),
         steps);
    indices[i] = steps.index;
    is_exact = is_exact && steps.is_exact();
    group = group + 1 < tables.size() ? group + 1 : 0;
  }
  TW_REQUIRE(is_exact && decoder.is_exact(code_room(most)),
             "the frame of device {} is no code of {} indices", sender, indices.size());
}

}  // namespace thinwire::compress
