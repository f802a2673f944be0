// What a device does to its rows before it sends them and to those that it gets: ViT-B/16's
// partitions at P = 2, 3 and 6, K = 1024, L = 10.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <vector>

#include "report.hpp"
#include "thinwire/compress/codebook.hpp"
#include "thinwire/compress/coded_frame.hpp"
#include "thinwire/compress/hierarchy.hpp"
#include "thinwire/compress/index_frame.hpp"
#include "thinwire/compress/kv_buffer.hpp"
#include "thinwire/compress/row_codec.hpp"
#include "thinwire/compress/segment_means.hpp"

namespace thinwire::micro {
namespace {

constexpr Index kCodewords = 1024;

/// Rows that one of 2, 3 or 6 devices codes.
void coded_rows(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("rows")->UseRealTime();
  for (const int rows : {99, 66, 33}) benchmark->Arg(rows);
}

/// Rows that one of 2, 3 or 6 devices gets from all others together.
void remote_rows(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("rows")->UseRealTime();
  for (const int rows : {99, 132, 164}) benchmark->Arg(rows);
}

std::vector<std::int32_t> random_indices(Index count, Index codewords, std::uint64_t seed = 0) {
  const RandomStream random("indices", seed);
  std::vector<std::int32_t> indices;
  for (Index i = 0; i < count; ++i)
    indices.push_back(static_cast<std::int32_t>(random.bits(static_cast<std::uint64_t>(i)) %
                                                static_cast<std::uint64_t>(codewords)));
  return indices;
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void segment_means(benchmark::State& state) {
  const Index rows = state.range(0), segments = 10;
  const Matrix<float> x = random_matrix(rows, kHidden, "x");
  Matrix<float> means(segments, kHidden);
  time_calls(state, {static_cast<double>(rows * kHidden), bytes_of((rows + segments) * kHidden)},
             [&] { compress::segment_means(x.view(), {}, means.view()); });
}
BENCHMARK(segment_means)->Apply(coded_rows)->Arg(128);

/// Rows of a device in a payload's format (voltage: its partition; prism: 10 means).
struct CodedRows {
  compress::RowFormat format;
  Matrix<float> rows;
  Matrix<std::byte> bytes;

  explicit CodedRows(const benchmark::State& state)
      : format(static_cast<compress::RowFormat>(state.range(1))),
        rows(random_matrix(state.range(0), kHidden, "x")),
        bytes(state.range(0), compress::row_bytes(format, kHidden)) {}
  Work work() const {
    return {.bytes = bytes_of(rows.rows() * kHidden) + static_cast<double>(bytes.bytes())};
  }
};

void coded_formats(benchmark::internal::Benchmark* benchmark) {
  using enum compress::RowFormat;
  benchmark->ArgNames({"rows", "format"})->UseRealTime();
  for (const int rows : {99, 10})
    for (const compress::RowFormat format : {fp32, fp16, bf16, int8})
      benchmark->Args({rows, static_cast<int>(format)});
}

void encode_rows(benchmark::State& state) {
  CodedRows coded(state);
  time_calls(state, coded.work(), [&] {
    compress::encode_rows(coded.rows.view(), coded.format, coded.bytes.view().elements());
  });
  state.SetLabel(std::string(compress::to_string(coded.format)));
}
BENCHMARK(encode_rows)->Apply(coded_formats);

void decode_rows(benchmark::State& state) {
  CodedRows coded(state);
  compress::encode_rows(coded.rows.view(), coded.format, coded.bytes.view().elements());
  time_calls(state, coded.work(), [&] {
    compress::decode_rows(coded.bytes.view().elements(), coded.format, coded.rows.view());
  });
  state.SetLabel(std::string(compress::to_string(coded.format)));
}
BENCHMARK(decode_rows)->Apply(coded_formats);

/// Every iteration runs the bare product, then the search, with the same weights' values: only the
/// search counts as time. The argmax is what the fastest search takes longer than the fastest
/// product: other programs can only lengthen either.
void nearest_codeword(benchmark::State& state) {
  const Index rows = state.range(0), codewords = state.range(1);
  const Matrix<float> table = random_matrix(codewords, kHidden, "codewords");
  const Matrix<float> x = random_matrix(rows, kHidden, "x");
  const ops::NearestCodeword nearest(table.view(), ops::Similarity::cosine, std::array{codewords},
                                     heap());
  const ops::Linear product(table.view(), {}, {}, heap());
  Matrix<float> scores(rows, codewords);
  Matrix<float> scratch(1, ops::NearestCodeword::scratch_floats(rows, kHidden, codewords));
  std::vector<std::int32_t> indices(static_cast<std::size_t>(rows));
  Operations counted;
  const auto multiply = [&] { product(x.view(), scores.view(), counted); };
  const auto search = [&] { nearest(x.view(), 0, scratch.view().elements(), indices, 1, counted); };
  multiply();
  search();
  double product_s = HUGE_VAL, search_s = HUGE_VAL;
  for ([[maybe_unused]] auto _ : state) {
    product_s = std::min(product_s, seconds_of(multiply));
    const double seconds = seconds_of(search);
    search_s = std::min(search_s, seconds);
    state.SetIterationTime(seconds);
  }
  report(state,
         {product_flops(rows, kHidden, codewords), bytes_of((rows + codewords) * kHidden + rows)});
  state.counters["product_us"] = 1e6 * product_s;
  state.counters["argmax_us"] = 1e6 * (search_s - product_s);
  state.counters["argmax_percent"] = 100 * (search_s / product_s - 1);
}
BENCHMARK(nearest_codeword)
    ->ArgNames({"rows", "codewords"})
    ->ArgsProduct({{99, 66, 33}, {kCodewords, 32}})
    ->UseManualTime();

/// A frame of TRACE's finest level, what it holds, and the codebook that it is about.
struct Frames {
  compress::FrameFormat format{.bits = compress::index_bits(kCodewords), .codewords = kCodewords};
  std::vector<std::int32_t> indices;
  std::vector<std::byte> bytes;

  explicit Frames(Index count) : indices(random_indices(count, kCodewords)) {
    bytes.resize(static_cast<std::size_t>(compress::frame_size(count, format.bits, true).bytes()));
    compress::pack_indices(indices, format, bytes);
  }
  /// Indices and frame.
  double touched_bytes() const {
    return bytes_of(std::ssize(indices)) + static_cast<double>(bytes.size());
  }
};

void pack_indices(benchmark::State& state) {
  Frames frames(state.range(0));
  time_calls(state, {.bytes = frames.touched_bytes()},
             [&] { compress::pack_indices(frames.indices, frames.format, frames.bytes); });
}
BENCHMARK(pack_indices)->ArgName("indices")->Arg(99)->Arg(33)->UseRealTime();

void unpack_indices(benchmark::State& state) {
  Frames frames(state.range(0));
  time_calls(state, {.bytes = frames.touched_bytes()},
             [&] { compress::unpack_indices(frames.bytes, frames.format, 0, frames.indices); });
}
BENCHMARK(unpack_indices)->ArgName("indices")->Arg(99)->Arg(33)->UseRealTime();

/// Indices of two exchanges, which mostly follow from each other as on real models: eight usual
/// successors, one in twenty any index at all.
struct CodedFrames {
  compress::FrameFormat format{.bits = compress::index_bits(kCodewords), .codewords = kCodewords};
  std::vector<std::int32_t> previous, indices, decoded;
  std::vector<compress::IndexTables> tables;
  std::vector<std::byte> room;
  std::size_t size = 0;

  explicit CodedFrames(Index count) : decoded(static_cast<std::size_t>(count)) {
    constexpr std::uint64_t kTrained = 1000;
    compress::IndexStatistics statistics(kCodewords, kCodewords);
    for (std::uint64_t frame = 0; frame <= kTrained; ++frame) {  // the last is what is coded
      if (frame > 0) statistics.add(indices, {.previous = previous});
      draw(count, frame);
    }
    tables.emplace_back(statistics);
    room.resize(static_cast<std::size_t>(
        compress::worst_frame_bytes(count, format, compress::IndexCoding::cross_layer)));
    encode();
  }
  void draw(Index count, std::uint64_t frame) {
    const RandomStream random("successors", frame);
    previous = random_indices(count, kCodewords, frame);
    indices.clear();
    for (std::uint64_t i = 0; i < previous.size(); ++i) {
      const std::uint64_t bits = random.bits(i), any = bits >> 32;
      const std::uint64_t step = bits % 20 == 0 ? any : any % 8 * (bits % 3);
      indices.push_back(static_cast<std::int32_t>(
          (static_cast<std::uint64_t>(previous[i]) * 5 + step) % kCodewords));
    }
  }
  void encode() {
    size = static_cast<std::size_t>(compress::encode_frame(
        indices, {.previous = previous}, tables, format, compress::IndexCoding::cross_layer, room));
  }
  void decode() {
    compress::decode_frame(std::span(room).first(size), {.previous = previous}, tables, format,
                           compress::IndexCoding::cross_layer, 0, decoded);
  }
};

void code_successors(benchmark::State& state) {
  CodedFrames frames(state.range(0));
  time_calls(state, {}, [&] { frames.encode(); });
  state.counters["frame_bytes"] = static_cast<double>(frames.size);
}
BENCHMARK(code_successors)->ArgName("indices")->Arg(99)->Arg(33)->UseRealTime();

void decode_successors(benchmark::State& state) {
  CodedFrames frames(state.range(0));
  time_calls(state, {}, [&] { frames.decode(); });
  if (frames.decoded != frames.indices) state.SkipWithError("other indices came back");
}
BENCHMARK(decode_successors)->ArgName("indices")->Arg(99)->Arg(33)->UseRealTime();

compress::Codebook make_codebook() {
  const std::array groups{random_matrix(kCodewords, kHidden, "codewords")};
  return {
      groups, ops::Similarity::cosine, std::array{kCodewords}, compress::Dequantise::yes, {heap()}};
}

/// From rows to the frame that is sent.
void encode_frame(benchmark::State& state) {
  const Index rows = state.range(0);
  Frames frames(rows);
  const compress::Codebook codebook = make_codebook();
  const Matrix<float> x = random_matrix(rows, kHidden, "x");
  Matrix<float> scratch(1, codebook.scratch_floats(rows, 0));
  Operations counted;
  time_calls(state,
             {product_flops(rows, kHidden, kCodewords), bytes_of((rows + kCodewords) * kHidden)},
             [&] {
               codebook.nearest(x.view(), 0, scratch.view().elements(), frames.indices, counted);
               compress::pack_indices(frames.indices, frames.format, frames.bytes);
             });
}
BENCHMARK(encode_frame)->Apply(coded_rows);

/// From frames to K and V of the peers' tokens (trace-b). Bytes: fp16 in, fp32 out.
void decode_frame(benchmark::State& state) {
  const Index rows = state.range(0), width = 2 * kHidden;
  Frames frames(rows);
  const compress::KvBuffer buffer(kCodewords, width, heap());
  Matrix<float> kv(rows, width);
  time_calls(state, {.bytes = 1.5 * bytes_of(rows * width)}, [&] {
    compress::unpack_indices(frames.bytes, frames.format, 0, frames.indices);
    buffer.gather(frames.indices, kv.view());
  });
}
BENCHMARK(decode_frame)->Apply(remote_rows);

/// The same without the frame. Bytes: fp16 in, fp32 out.
void gather_kv(benchmark::State& state) {
  const Index rows = state.range(0), width = 2 * kHidden;
  const std::vector<std::int32_t> indices = random_indices(rows, kCodewords);
  const compress::KvBuffer buffer(kCodewords, width, heap());
  Matrix<float> kv(rows, width);
  time_calls(state, {.bytes = 1.5 * bytes_of(rows * width)},
             [&] { buffer.gather(indices, kv.view()); });
}
BENCHMARK(gather_kv)->Apply(remote_rows);

/// From indices to codewords (astra, trace-nb).
void look_up_codewords(benchmark::State& state) {
  const Index rows = state.range(0);
  const std::vector<std::int32_t> indices = random_indices(rows, kCodewords);
  const compress::Codebook codebook = make_codebook();
  Matrix<float> x(rows, kHidden);
  time_calls(state, {.bytes = bytes_of(2 * rows * kHidden)},
             [&] { codebook.lookup(indices, x.view()); });
}
BENCHMARK(look_up_codewords)->Apply(remote_rows);

/// Set-up, once a codebook: never in a pass.
void build_hierarchy(benchmark::State& state) {
  const Matrix<float> codewords = random_matrix(kCodewords, kHidden, "codewords");
  const std::vector<Index> levels = compress::default_levels(kCodewords);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(
        compress::build_hierarchy(codewords.view(), levels, compress::Dissimilarity::euclidean));
}
BENCHMARK(build_hierarchy)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thinwire::micro
