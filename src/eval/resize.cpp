#include <algorithm>
#include <cmath>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/eval/picture.hpp"

// After Pillow's Resample.c, 8 bits a channel. Every step that rounds is kept as it is there:
// coefficients in double, then fixed point, and a picture of bytes between the two passes.
namespace thinwire::eval {
namespace {

constexpr int kFractionBits = 32 - 8 - 2;  // a sum of weights times bytes fits 32 bits
constexpr int kChannels = 3;

/// The source pixels [first, first + weights.size()) that make one output pixel.
struct Window {
  int first = 0;
  std::vector<int> weights;  // fixed point, kFractionBits
};

double triangle(double x) {
  return std::max(0.0, 1.0 - std::abs(x));
}

/// Half up by truncation, as Pillow rounds (towards zero below -0.5, where windows are clamped).
int round_half_up(double x) {
  const double shifted = x + 0.5;
  return static_cast<int>(shifted);
}

/// The window of output pixel `out` when `from` pixels become `to`.
Window make_window(int out, int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double stretch = std::max(scale, 1.0);  // the filter grows when the picture shrinks
  const double center = (out + 0.5) * scale;
  Window window;
  window.first = std::max(round_half_up(center - stretch), 0);
  const int end = std::min(round_half_up(center + stretch), from);

  std::vector<double> weights;
  double sum = 0;
  for (int i = window.first; i < end; ++i) {
    weights.push_back(triangle((i - center + 0.5) * (1.0 / stretch)));
    sum += weights.back();
  }
  for (const double weight : weights)
    window.weights.push_back(
        round_half_up((sum != 0 ? weight / sum : weight) * (1 << kFractionBits)));
  return window;
}

std::vector<Window> make_windows(int from, int to) {
  std::vector<Window> windows;
  for (int out = 0; out < to; ++out) windows.push_back(make_window(out, from, to));
  return windows;
}

/// Weighted sum of bytes `step` apart, rounded.
std::uint8_t weigh(const std::uint8_t* first, std::ptrdiff_t step,
                   const std::vector<int>& weights) {
  int sum = 1 << (kFractionBits - 1);
  for (const int weight : weights) {
    sum += *first * weight;
    first += step;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

Picture empty_picture(int height, int width) {
  const auto bytes = static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * kChannels;
  return {height, width, std::vector<std::uint8_t>(bytes)};
}

const std::uint8_t* at(const Picture& picture, int y, int x) {
  return picture.rgb.data() + (static_cast<std::ptrdiff_t>(y) * picture.width + x) * kChannels;
}

Picture resize_rows(const Picture& picture, int width) {
  const std::vector<Window> windows = make_windows(picture.width, width);
  Picture result = empty_picture(picture.height, width);
  std::uint8_t* out = result.rgb.data();
  for (int y = 0; y < picture.height; ++y)
    for (const Window& window : windows)
      for (int c = 0; c < kChannels; ++c)
        *out++ = weigh(at(picture, y, window.first) + c, kChannels, window.weights);
  return result;
}

Picture resize_columns(const Picture& picture, int height) {
  const std::vector<Window> windows = make_windows(picture.height, height);
  const std::ptrdiff_t step = std::ptrdiff_t{kChannels} * picture.width;
  Picture result = empty_picture(height, picture.width);
  std::uint8_t* out = result.rgb.data();
  for (const Window& window : windows)
    for (int x = 0; x < picture.width; ++x)
      for (int c = 0; c < kChannels; ++c)
        *out++ = weigh(at(picture, window.first, x) + c, step, window.weights);
  return result;
}

}  // namespace

Picture resize_bilinear(const Picture& picture, int height, int width) {
  TW_REQUIRE(picture.height >= 1 && picture.width >= 1 && height >= 1 && width >= 1,
             "a picture of {}x{} cannot become {}x{}", picture.height, picture.width, height,
             width);
  return resize_columns(resize_rows(picture, width), height);
}

}  // namespace thinwire::eval
