#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <vector>

#include "decode.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::eval {
namespace {

/// libpng ends a decoding through a jump over frames that own nothing: an exception must not pass
/// through its C frames.
class PngDecoder {
 public:
  explicit PngDecoder(std::span<const std::uint8_t> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, give_up,
                                  [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    TW_REQUIRE(info_ != nullptr, "libpng {} cannot be used", PNG_LIBPNG_VER_STRING);
  }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Whether it went well; else reason() says what did not. Sets width() and height().
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, read_bytes);
    png_read_info(png_, info_);
    png_set_expand(png_);  // palettes and grey of few bits
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  /// `rows` has a pointer to each row of [height, width, 3].
  bool read_pixels(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  int width() const { return static_cast<int>(png_get_image_width(png_, info_)); }
  int height() const { return static_cast<int>(png_get_image_height(png_, info_)); }
  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  const char* reason() const { return reason_.data(); }

 private:
  [[noreturn]] static void give_up(png_structp png, png_const_charp reason) {
    auto* const self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::snprintf(self->reason_.data(), self->reason_.size(), "%s", reason);
    png_longjmp(png, 1);
  }
  static void read_bytes(png_structp png, png_bytep to, std::size_t count) {
    auto* const self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self->rest_.size()) png_error(png, "the file is cut short");
    std::ranges::copy(self->rest_.first(count), to);
    self->rest_ = self->rest_.subspan(count);
  }

  std::span<const std::uint8_t> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::array<char, 256> reason_{};
};

}  // namespace

Picture decode_png(std::span<const std::uint8_t> bytes) {
  PngDecoder decoder(bytes);
  require_input(decoder.read_header(), "{}", decoder.reason());
  require_size(decoder.width(), decoder.height());
  Picture picture{decoder.height(), decoder.width(), {}};
  const std::size_t row_size = static_cast<std::size_t>(picture.width) * 3;
  TW_REQUIRE(decoder.row_bytes() == row_size, "rows of {} bytes instead of {}", decoder.row_bytes(),
             row_size);
  picture.rgb.resize(static_cast<std::size_t>(picture.height) * row_size);
  std::vector<png_bytep> rows;
  for (int y = 0; y < picture.height; ++y)
    rows.push_back(picture.rgb.data() + static_cast<std::size_t>(y) * row_size);
  require_input(decoder.read_pixels(rows.data()), "{}", decoder.reason());
  return picture;
}

}  // namespace thinwire::eval
