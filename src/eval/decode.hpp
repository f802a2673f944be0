#pragma once
#include <cstdint>
#include <span>

#include "thinwire/eval/picture.hpp"

namespace thinwire::eval {

/// No model looks at more, and a few bytes can claim to be any number of pixels.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 25;

/// Throws InputError, with the reason alone, for a size that is not to be decoded.
void require_size(std::int64_t width, std::int64_t height);

/// The whole of a JPEG file. Throws InputError with the decoder's reason alone.
Picture decode_jpeg(std::span<const std::uint8_t> bytes);
/// The whole of a PNG file; transparency is dropped. Throws InputError with the reason alone.
Picture decode_png(std::span<const std::uint8_t> bytes);

}  // namespace thinwire::eval
