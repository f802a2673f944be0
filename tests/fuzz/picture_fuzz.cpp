// JPEG and PNG files, up to the pixels of a small model.

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/eval/picture.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinwire;
  static const fuzz::InputFile file("picture");
  fuzz::is_taken([&] {
    const eval::Picture picture = eval::read_picture(file.write(fuzz::as_text(data, size)));
    const auto pixels =
        static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
    fuzz::require(pixels >= 1 && picture.rgb.size() == 3 * pixels);
    const eval::Preprocessing preprocessing{.height = 4, .width = 4};
    fuzz::require(eval::to_pixels(picture, preprocessing).size() == 3 * 4 * 4);
  });
  return 0;
}
