#include "support/frame_trials.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"

namespace thinwire::test {
namespace {

using namespace thinwire::compress;

constexpr int kSender = 3;

/// The successor that trained indices usually have.
std::int32_t follow(std::int32_t index, std::uint64_t step, Index codewords) {
  return static_cast<std::int32_t>((static_cast<std::uint64_t>(index) * 5 + step) %
                                   static_cast<std::uint64_t>(codewords));
}

/// Bytes of their own, so that a sanitizer sees a read past the end.
struct Exact {
  explicit Exact(std::span<const std::byte> bytes)
      : data(std::make_unique<std::byte[]>(bytes.size())), size(bytes.size()) {
    std::ranges::copy(bytes, data.get());
  }
  std::span<const std::byte> span() const { return {data.get(), size}; }
  std::unique_ptr<std::byte[]> data;
  std::size_t size;
};

}  // namespace

FrameTrials::FrameTrials(std::uint64_t seed) : random_("frame_trials", seed) {
  settings_.push_back(make_setting(1024, 1024, 1, 300));
  settings_.push_back(make_setting(512, 512, 1, 40));
  settings_.push_back(make_setting(8, 1024, 1, 300));
  settings_.push_back(make_setting(2, 2, 1, 100));
  settings_.push_back(make_setting(37, 100, 3, 100));
  settings_.push_back(make_setting(200, 200, 1, 0));
  settings_.push_back(make_setting(65536, 65536, 1, 20));
}

FrameTrials::Setting FrameTrials::make_setting(Index codewords, Index contexts, std::size_t groups,
                                               int frames) {
  const RandomStream random("frame_trials.setting", static_cast<std::uint64_t>(codewords));
  std::uint64_t next = 0;
  Setting setting{.format = {.bits = index_bits(codewords), .codewords = codewords},
                  .contexts = contexts};
  std::vector<IndexStatistics> statistics(groups, IndexStatistics(codewords, contexts));
  for (int frame = 0; frame < frames; ++frame) {
    Indices earlier, previous, indices;
    for (std::size_t i = 0; i < 20 * groups; ++i) {
      earlier.push_back(
          static_cast<std::int32_t>(random.bits(next++) % static_cast<std::uint64_t>(codewords)));
      previous.push_back(follow(earlier.back(), random.bits(next++) % 2, codewords));
      indices.push_back(follow(previous.back(), random.bits(next++) % 3, codewords));
    }
    for (std::size_t group = 0; group < groups; ++group)
      statistics[group].add(indices, {.previous = previous, .earlier = earlier},
                            static_cast<Index>(group), static_cast<Index>(groups));
  }
  for (const IndexStatistics& counted : statistics) setting.tables.emplace_back(counted);
  const auto sums = setting.tables.front().sums();
  const auto frequency = [&](std::int32_t index) {
    return sums[static_cast<std::size_t>(index) + 1] - sums[static_cast<std::size_t>(index)];
  };
  for (std::int32_t index = 1; index < codewords; ++index) {
    if (frequency(index) < frequency(setting.rarest)) setting.rarest = index;
    if (frequency(index) > frequency(setting.commonest)) setting.commonest = index;
  }
  return setting;
}

FrameTrials::Indices FrameTrials::draw(const Setting& setting, std::size_t count,
                                       const Indices& known) {
  const auto codewords = static_cast<std::uint64_t>(setting.format.codewords);
  const std::uint64_t kind = below(6);
  const auto constant = static_cast<std::int32_t>(below(codewords));
  Indices indices(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto any = static_cast<std::int32_t>(below(codewords));
    const std::int32_t usual =
        known.empty() ? setting.commonest : follow(known[i], below(3), setting.format.codewords);
    switch (kind) {
      case 0:
        indices[i] = any;
        break;
      case 1:
        indices[i] = setting.rarest;
        break;
      case 2:
        indices[i] = constant;
        break;
      case 3:
        indices[i] = below(10) == 0 ? any : usual;
        break;
      default:
        indices[i] = usual;
    }
  }
  return indices;
}

std::vector<std::byte> FrameTrials::damage(std::vector<std::byte> frame) {
  const auto any_byte = [&] { return static_cast<std::byte>(below(256)); };
  switch (below(5)) {
    case 0:
      frame.resize(below(frame.size() + 1));
      break;
    case 1:
      frame.resize(frame.size() + 1 + below(3));
      break;
    case 2:
      std::ranges::generate(frame, any_byte);
      break;
    case 3:  // all but the header
      std::ranges::generate(frame.begin() + std::min<std::ptrdiff_t>(1, std::ssize(frame)),
                            frame.end(), any_byte);
      break;
    default:
      if (!frame.empty()) frame[below(frame.size())] ^= std::byte{1} << below(8);
  }
  return frame;
}

void FrameTrials::run_one() {
  ++runs;
  // The largest codebook is slow to begin with and seldom needed.
  const Setting& setting = settings_[below(settings_.size())];
  const std::size_t groups = setting.tables.size();
  const std::size_t count = groups * (below(8) == 0 ? below(150) : below(20));
  const auto coding = below(2) == 0 ? IndexCoding::entropy : IndexCoding::cross_layer;
  FrameFormat format = setting.format;
  format.has_header = below(2) == 0;
  const std::uint64_t depth = below(3);
  const Indices earlier = depth < 2 ? Indices() : draw(setting, count, {});
  const Indices previous = depth < 1 ? Indices() : draw(setting, count, earlier);
  const Indices indices = draw(setting, count, previous);
  const KnownIndices known{.previous = previous, .earlier = earlier};

  std::vector<std::byte> room(
      static_cast<std::size_t>(worst_frame_bytes(std::ssize(indices), format, coding)));
  const auto encode = [&](std::span<const std::int32_t> values) {
    const std::int64_t bytes = encode_frame(values, known, setting.tables, format, coding, room);
    return std::vector<std::byte>(room.begin(), room.begin() + bytes);
  };
  const auto decode = [&](std::span<const std::byte> frame) {
    const Exact exact(frame);
    Indices decoded(count, -1);
    decode_frame(exact.span(), known, setting.tables, format, coding, kSender, decoded);
    return decoded;
  };

  const std::vector<std::byte> frame = encode(indices);
  ++(read_frame_header(frame, kSender).coding == IndexCoding::fixed ? fixed : coded);
  if (decode(frame) != indices) throw Error(fmt::format("run {}: other indices came back", runs));

  const std::vector<std::byte> broken = damage(frame);
  Indices decoded;
  try {
    decoded = decode(broken);
  } catch (const Error& error) {
    ++refused;
    if (std::string(error.what()).find("device 3") == std::string::npos)
      throw Error(fmt::format("run {}: no sender in: {}", runs, error.what()));
    return;
  }
  ++accepted;
  for (const std::int32_t index : decoded)
    if (index < 0 || index >= format.codewords)
      throw Error(fmt::format("run {}: index {} of {}", runs, index, format.codewords));
  // One sequence has one code: what was taken is what an encoder of it writes.
  if (read_frame_header(broken, kSender).coding != IndexCoding::fixed && encode(decoded) != broken)
    throw Error(fmt::format("run {}: a code that no encoder writes was taken", runs));
}

}  // namespace thinwire::test
