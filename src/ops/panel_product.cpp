#include "panel_product.hpp"

#include <omp.h>

#include <algorithm>
#include <array>

#include "gelu.hpp"
#include "thinwire/base/partition.hpp"
#include "transpose.hpp"

namespace thinwire::ops {
namespace {

/// Pieces of work a thread, where rows have to be split because the panels are too few.
constexpr Index kPiecesPerThread = 4;

Index panels_of(Index outputs) {
  return (outputs + kTileColumns - 1) / kTileColumns;
}

/// Rows of weights that become columns of a panel, as many as it has room for; others are zero.
/// first_input is that of the square that is read.
VectorSquare load_square(MatrixView<const float> rows, Index first_input) {
  const Index inputs = std::min(kVectorFloats, rows.cols() - first_input);
  VectorSquare square = {};
  for (Index r = 0; r < std::min(kVectorFloats, rows.rows()); ++r) {
    const float* const from = rows.row(r).data() + first_input;
    Vector& to = square[static_cast<std::size_t>(r)];
    if (inputs == kVectorFloats)
      to = load(from);
    else
      std::memcpy(&to, from, static_cast<std::size_t>(inputs) * sizeof(float));
  }
  return square;
}

/// What is the same for all tiles of a panel.
struct Panel {
  const PanelProduct& product;
  const float* weights;
  Index first_output, outputs;
  std::array<Vector, 2> bias = {};

  Panel(const PanelProduct& whole, Index index)
      : product(whole),
        weights(whole.panels + index * whole.inputs * kTileColumns),
        first_output(index * kTileColumns),
        outputs(std::min(kTileColumns, whole.outputs - first_output)) {
    if (whole.bias.empty()) return;
    std::array<float, kTileColumns> padded = {};
    std::copy_n(whole.bias.data() + first_output, outputs, padded.data());
    bias = {load(padded.data()), load(padded.data() + kVectorFloats)};
  }
};

/// A row of sums, bias included, to its place in y.
template <Activation activation, Accumulate accumulate>
void finish_row(const Panel& panel, const float* sums, float* y) noexcept {
  const bool is_whole = panel.outputs == kTileColumns;
  std::array<float, kTileColumns> part = {};
  float* const to = is_whole ? y : part.data();
  if (accumulate == Accumulate::yes && !is_whole) std::copy_n(y, panel.outputs, to);
  for (const Index half : {0, 1}) {
    const Index at = half * kVectorFloats;
    const Vector value = activated<activation>(load(sums + at));
    store(to + at, accumulate == Accumulate::yes ? value + load(to + at) : value);
  }
  if (!is_whole) std::copy_n(part.data(), panel.outputs, y);
}

/// Has the cache lines that a tile's results will go to fetched while it is computed: storing to
/// lines that are not there yet takes 3 % of a product whose y is larger than the caches.
void fetch_for_writing(const float* y, Index stride, Index rows) noexcept {
  for (Index r = 0; r < rows; ++r, y += stride)
    for (const Index column : {Index{0}, kTileColumns / 2, kTileColumns - 1})
      __builtin_prefetch(y + column, 1);
}

template <Activation activation, Accumulate accumulate>
void multiply_panel(const Panel& panel, const float* x, float* y, Slice rows) noexcept {
  const Index inputs = panel.product.inputs, outputs = panel.product.outputs;
  const bool is_direct = activation == Activation::none && panel.outputs == kTileColumns;
  alignas(kVectorBytes) std::array<float, kTileRows * kTileColumns> sums;  // written, then read
  for_each_tile(rows.size, [&](Index first, Index count) {
    const Index row = rows.begin + first;
    ProductTile tile{x + row * inputs, inputs,       panel.weights, inputs,
                     sums.data(),      kTileColumns, panel.bias};
    float* const to = y + row * outputs + panel.first_output;
    fetch_for_writing(to, outputs, count);
    if (is_direct) {
      tile.y = to;
      tile.y_stride = outputs;
      tile.accumulate = accumulate;
    }
    multiply_tile(count, tile);
    if (is_direct) return;
    for (Index r = 0; r < count; ++r)
      finish_row<activation, accumulate>(panel, sums.data() + r * kTileColumns, to + r * outputs);
  });
}

using Multiply = void (*)(const Panel&, const float*, float*, Slice) noexcept;

template <Accumulate accumulate>
Multiply multiply_for(Activation activation) {
  switch (activation) {
    case Activation::none:
      return &multiply_panel<Activation::none, accumulate>;
    case Activation::gelu_erf:
      return &multiply_panel<Activation::gelu_erf, accumulate>;
    case Activation::gelu_tanh:
      return &multiply_panel<Activation::gelu_tanh, accumulate>;
  }
  return nullptr;
}

}  // namespace

Index panel_floats(Index outputs, Index inputs) {
  return panels_of(outputs) * kTileColumns * inputs;
}

void pack_panel(MatrixView<const float> weight, float* panel) {
  for (Index half = 0; half < kTileColumns; half += kVectorFloats) {
    const Index rows = std::clamp<Index>(weight.rows() - half, 0, kVectorFloats);
    for (Index k0 = 0; k0 < weight.cols(); k0 += kVectorFloats) {
      VectorSquare square = load_square(weight.rows(weight.rows() - half < 0 ? 0 : half, rows), k0);
      transpose(square);
      for (Index k = 0; k < std::min(kVectorFloats, weight.cols() - k0); ++k)
        store(panel + (k0 + k) * kTileColumns + half, square[static_cast<std::size_t>(k)]);
    }
  }
}

void pack_panels(MatrixView<const float> weight, float* panels) {
#pragma omp parallel for schedule(static)
  for (Index panel = 0; panel < panels_of(weight.rows()); ++panel) {
    const Index first = panel * kTileColumns;
    pack_panel(weight.rows(first, std::min(kTileColumns, weight.rows() - first)),
               panels + first * weight.cols());
  }
}

void unpack_panels(const float* panels, MatrixView<float> weight) {
  for (Index output = 0; output < weight.rows(); ++output) {
    const Index within = output % kTileColumns;
    const float* const panel = panels + (output - within) * weight.cols() + within;
    for (Index k = 0; k < weight.cols(); ++k) weight(output, k) = panel[k * kTileColumns];
  }
}

void PanelProduct::operator()(const float* x, float* y, Index rows) const {
  const Multiply multiply = epilogue.accumulate == Accumulate::yes
                                ? multiply_for<Accumulate::yes>(epilogue.activation)
                                : multiply_for<Accumulate::no>(epilogue.activation);
  const Index count = panels_of(outputs);
  const int threads = rows * inputs * outputs < kMacsWorthThreads ? 1 : omp_get_max_threads();
  if (threads == 1) {
    for (Index panel = 0; panel < count; ++panel) multiply({*this, panel}, x, y, {0, rows});
    return;
  }
  const Index tiles = (rows + kTileRows - 1) / kTileRows;
  const Index wanted = (kPiecesPerThread * threads + count - 1) / count;
  const Index pieces = count >= kPiecesPerThread * threads ? 1 : std::min(tiles, wanted);
  // Neighbouring panels stay with one thread: two would share cache lines and memory pages.
#pragma omp parallel for schedule(static)
  for (Index piece = 0; piece < count * pieces; ++piece) {
    const Index begin = rows * (piece % pieces) / pieces;
    const Index end = rows * (piece % pieces + 1) / pieces;
    multiply({*this, piece / pieces}, x, y, {begin, end - begin});
  }
}

}  // namespace thinwire::ops
