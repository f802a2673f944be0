// Codes dumped frames with tables of other dumps' statistics and says what they take, exchange by
// exchange, as one JSON document: bits of the frames as they were, bits of frames of 1 to 99 tokens
// (those of the dump in a row) and the time that one thread takes for one of 99.
//
// Usage: thinwire_code_frames CODEWORDS CONTEXTS TRAIN[,TRAIN...] TEST
// TRAIN and TEST are files of thinwire_dump_indices, of trace strategies (one group). Every frame
// is decoded again and compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/compress/coded_frame.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace {

using namespace thinwire;
using namespace thinwire::compress;

struct Dump {
  std::vector<std::int32_t> tokens;                  // of each frame
  std::vector<std::vector<std::int32_t>> exchanges;  // indices of all frames

  explicit Dump(const std::string& path) {
    const SafetensorsFile file(path);
    tokens = file.integers("tokens");
    for (Index e = 0; e < 1000; ++e)
      if (const std::string name = fmt::format("exchange.{}", e); file.has(name))
        exchanges.push_back(file.integers(name));
  }

  /// Calls with the span of each frame and what is known of it.
  template <class Use>
  void for_each_frame(std::size_t exchange, Use&& use) const {
    std::size_t begin = 0;
    for (const std::int32_t count : tokens) {
      use_frame(exchange, begin, static_cast<std::size_t>(count), use);
      begin += static_cast<std::size_t>(count);
    }
  }
  /// The same for all tokens in a row, in frames of `count`.
  template <class Use>
  void for_each_frame_of(std::size_t count, std::size_t exchange, Use&& use) const {
    for (std::size_t begin = 0; begin + count <= exchanges[exchange].size(); begin += count)
      use_frame(exchange, begin, count, use);
  }

 private:
  template <class Use>
  void use_frame(std::size_t exchange, std::size_t begin, std::size_t count, Use&& use) const {
    const auto part = [&](std::size_t back) {
      if (back > exchange) return std::span<const std::int32_t>();
      return std::span(exchanges[exchange - back]).subspan(begin, count);
    };
    use(part(0), KnownIndices{.previous = part(1), .earlier = part(2)});
  }
};

std::int64_t coded_bytes(std::span<const std::int32_t> indices, const KnownIndices& known,
                         std::span<const IndexTables> tables, const FrameFormat& format,
                         IndexCoding coding) {
  std::vector<std::byte> frame(
      static_cast<std::size_t>(worst_frame_bytes(std::ssize(indices), format, coding)));
  const std::int64_t bytes = encode_frame(indices, known, tables, format, coding, frame);
  frame.resize(static_cast<std::size_t>(bytes));
  std::vector<std::int32_t> decoded(indices.size());
  decode_frame(frame, known, tables, format, coding, 0, decoded);
  TW_REQUIRE(std::ranges::equal(indices, decoded), "a frame of {} indices changed", indices.size());
  return bytes;
}

FrameFormat format_of(const IndexTables& tables) {
  return {.bits = index_bits(tables.codewords()), .codewords = tables.codewords()};
}

/// Mean bits of frames of several lengths.
Json code_lengths(const Dump& test, std::size_t exchange, const IndexTables& tables) {
  const FrameFormat format = format_of(tables);
  Json rows = Json::array();
  for (const std::size_t tokens : {1, 4, 16, 33, 99}) {
    std::int64_t bytes = 0, frames = 0;
    test.for_each_frame_of(tokens, exchange, [&](const auto& indices, const KnownIndices& known) {
      bytes += coded_bytes(indices, known, {&tables, 1}, format, IndexCoding::cross_layer);
      ++frames;
    });
    if (frames == 0) continue;
    rows.push_back(
        {{"tokens", tokens},
         {"fixed_bits", frame_size(static_cast<Index>(tokens), format.bits, true).bytes() * 8},
         {"cross_layer_bits", 8.0 * static_cast<double>(bytes) / static_cast<double>(frames)}});
  }
  return rows;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Medians over all frames of kTimedTokens tokens, coded cross-layer, kRounds times each.
Json time(const Dump& test, std::size_t exchange, const IndexTables& tables) {
  constexpr Index kTimedTokens = 99;
  constexpr int kRounds = 15;
  using Clock = std::chrono::steady_clock;
  const FrameFormat format = format_of(tables);
  const std::span one(&tables, 1);
  std::vector<std::byte> frame(
      static_cast<std::size_t>(worst_frame_bytes(kTimedTokens, format, IndexCoding::cross_layer)));
  std::vector<std::int32_t> decoded(kTimedTokens);
  std::vector<double> encode_s, decode_s;
  for (int round = 0; round < kRounds; ++round)
    test.for_each_frame_of(
        kTimedTokens, exchange, [&](const auto& indices, const KnownIndices& known) {
          const auto begin = Clock::now();
          const std::int64_t bytes =
              encode_frame(indices, known, one, format, IndexCoding::cross_layer, frame);
          const auto between = Clock::now();
          decode_frame(std::span(frame).first(static_cast<std::size_t>(bytes)), known, one, format,
                       IndexCoding::cross_layer, 0, decoded);
          const auto end = Clock::now();
          encode_s.push_back(std::chrono::duration<double>(between - begin).count());
          decode_s.push_back(std::chrono::duration<double>(end - between).count());
        });
  return {{"tokens", kTimedTokens},
          {"frames", encode_s.size()},
          {"encode_s", median(encode_s)},
          {"decode_s", median(decode_s)}};
}

Json code(const Dump& test, std::size_t exchange, const IndexTables& tables) {
  const FrameFormat format = format_of(tables);
  std::int64_t fixed = 0, entropy = 0, cross = 0, tokens = 0;
  test.for_each_frame(exchange, [&](const auto& indices, const KnownIndices& known) {
    const std::span one(&tables, 1);
    tokens += std::ssize(indices);
    fixed += frame_size(std::ssize(indices), format.bits, true).bytes();
    entropy += coded_bytes(indices, known, one, format, IndexCoding::entropy);
    cross += coded_bytes(indices, known, one, format, IndexCoding::cross_layer);
  });
  return {
      {"exchange", exchange},
      {"frames", test.tokens.size()},
      {"tokens", tokens},
      {"fixed_bits", 8 * fixed},
      {"entropy_bits", 8 * entropy},
      {"cross_layer_bits", 8 * cross},
      {"expected_entropy_bits_per_token", index_cost(tables, IndexCoding::entropy).expected_bits},
      {"expected_cross_layer_bits_per_token",
       index_cost(tables, IndexCoding::cross_layer).expected_bits},
      {"table_bytes", tables.file_bytes()},
      {"lengths", code_lengths(test, exchange, tables)},
      {"time", time(test, exchange, tables)}};
}

void run(const std::vector<std::string>& args) {
  const Index codewords = std::stoll(args[0]), contexts = std::stoll(args[1]);
  const Dump test(args[3]);
  Json rows = Json::array();
  for (std::size_t e = 0; e < test.exchanges.size(); ++e) {
    IndexStatistics statistics(codewords, contexts);
    for (const std::string& train : split(args[2], ','))
      Dump(train).for_each_frame(e, [&](const auto& indices, const KnownIndices& known) {
        statistics.add(indices, known);
      });
    rows.push_back(code(test, e, IndexTables(statistics)));
  }
  std::printf("%s\n", rows.dump(1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() != 4) {
    std::fprintf(stderr, "four arguments are needed, see the top of code_frames.cpp\n");
    return 2;
  }
  try {
    run(args);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
