#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>

// Needs the two headers before it.
#include <jerror.h>
#include <jpeglib.h>

#include "decode.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::eval {
namespace {

/// libjpeg ends a decoding through these. An exception must not pass through its C frames: errors
/// jump back instead, over frames that own nothing.
struct Failure {
  jpeg_error_mgr manager;  // first: libjpeg hands back a pointer to it
  std::jmp_buf place;
  std::array<char, JMSG_LENGTH_MAX> reason;
};

[[noreturn]] void give_up(j_common_ptr decoder) {
  auto* const failure = reinterpret_cast<Failure*>(decoder->err);
  decoder->err->format_message(decoder, failure->reason.data());
  std::longjmp(failure->place, 1);
}

/// Warnings are passed over as Pillow does, but for a picture that is cut short.
void on_message(j_common_ptr decoder, int level) {
  const int code = decoder->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) give_up(decoder);
}

class JpegDecoder {
 public:
  JpegDecoder() {
    decoder_.err = jpeg_std_error(&failure_.manager);
    failure_.manager.error_exit = give_up;
    failure_.manager.emit_message = on_message;
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&decoder_); }

  /// Whether it went well; else reason() says what did not. Sets width() and height().
  bool read_header(std::span<const std::uint8_t> bytes) {
    if (setjmp(failure_.place) != 0) return false;
    jpeg_create_decompress(&decoder_);
    jpeg_mem_src(&decoder_, bytes.data(), bytes.size());
    jpeg_read_header(&decoder_, TRUE);
    decoder_.out_color_space = JCS_RGB;
    return true;
  }
  /// Fills rgb [height, width, 3].
  bool read_pixels(std::uint8_t* rgb) {
    if (setjmp(failure_.place) != 0) return false;
    jpeg_start_decompress(&decoder_);
    const std::size_t row_size = std::size_t{decoder_.output_width} * 3;
    while (decoder_.output_scanline < decoder_.output_height) {
      JSAMPROW row = rgb + decoder_.output_scanline * row_size;
      jpeg_read_scanlines(&decoder_, &row, 1);
    }
    jpeg_finish_decompress(&decoder_);
    return true;
  }

  int width() const { return static_cast<int>(decoder_.image_width); }
  int height() const { return static_cast<int>(decoder_.image_height); }
  const char* reason() const { return failure_.reason.data(); }

 private:
  jpeg_decompress_struct decoder_{};
  Failure failure_{};
};

}  // namespace

Picture decode_jpeg(std::span<const std::uint8_t> bytes) {
  JpegDecoder decoder;
  require_input(decoder.read_header(bytes), "{}", decoder.reason());
  require_size(decoder.width(), decoder.height());
  Picture picture{decoder.height(), decoder.width(), {}};
  picture.rgb.resize(static_cast<std::size_t>(picture.height) *
                     static_cast<std::size_t>(picture.width) * 3);
  require_input(decoder.read_pixels(picture.rgb.data()), "{}", decoder.reason());
  return picture;
}

}  // namespace thinwire::eval
