#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "thinwire/model/model_config.hpp"

namespace thinwire::eval {

/// A decoded picture: RGB, uint8 [height, width, 3].
struct Picture {
  int height = 0, width = 0;
  std::vector<std::uint8_t> rgb;
};

/// JPEG or PNG. Throws InputError that names the file and what is wrong.
Picture read_picture(const std::filesystem::path& file);

/// Pillow's antialiased bilinear resize (triangle filter scaled with the reduction, both passes
/// rounded to uint8 in fixed point), equal to it to the last bit.
Picture resize_bilinear(const Picture& picture, int height, int width);

/// How a model wants its pixels (preprocessor_config.json; absent: image_size and 0.5, 0.5).
struct Preprocessing {
  int height = 0, width = 0;
  std::array<float, 3> mean{0.5F, 0.5F, 0.5F}, deviation{0.5F, 0.5F, 0.5F};
};
/// `folder` may be empty (presets) or have no preprocessor_config.json.
Preprocessing preprocessing_for(const model::ModelConfig& config,
                                const std::filesystem::path& folder);

/// Resizes if need be, then (value / 255 - mean) / deviation.   returns [3, height, width]
std::vector<float> to_pixels(const Picture& picture, const Preprocessing& preprocessing);

}  // namespace thinwire::eval
