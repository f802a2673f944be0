#include <gtest/gtest.h>

#include <string_view>

#include "thinwire/base/text.hpp"
#include "thinwire/eval/picture.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::eval {
namespace {

/// What Pillow made of the pictures in tests/data/pictures (make_pictures.py).
Picture expected(const std::string& name) {
  const SafetensorsFile file(std::filesystem::path(THINWIRE_TEST_DATA) / "pictures" /
                             "expected.safetensors");
  const TensorView& tensor = file.at(name);
  Picture picture{static_cast<int>(tensor.shape[0]), static_cast<int>(tensor.shape[1]), {}};
  for (const std::byte byte : tensor.bytes)
    picture.rgb.push_back(std::to_integer<std::uint8_t>(byte));
  return picture;
}

TEST(ResizeBilinear, EqualsPillowToTheLastBit) {
  const SafetensorsFile file(std::filesystem::path(THINWIRE_TEST_DATA) / "pictures" /
                             "expected.safetensors");
  int cases = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    const auto dot = name.find('.');
    if (dot == name.npos) continue;  // a picture as it is
    SCOPED_TRACE(name);
    const Picture wanted = expected(name);

    const Picture resized =
        resize_bilinear(expected(name.substr(0, dot)), wanted.height, wanted.width);

    EXPECT_EQ(resized.height, wanted.height);
    EXPECT_EQ(resized.width, wanted.width);
    EXPECT_EQ(resized.rgb, wanted.rgb);
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

TEST(ResizeBilinear, EqualsPillowOnALargePicture) {
  Picture large{480, 640, {}};
  for (int y = 0; y < large.height; ++y)
    for (int x = 0; x < large.width; ++x)
      for (int c = 0; c < 3; ++c)
        large.rgb.push_back(
            static_cast<std::uint8_t>((x * x * 7 + y * 131 + c * 57 + x * y) % 256));
  struct Case {
    int width, height;
    std::uint64_t digest;  // as make_pictures.py prints it
  };
  for (const auto [width, height, digest] :
       {Case{224, 224, 0xdabe172e99f6c55f}, Case{384, 384, 0xf94aa64281d1024e},
        Case{800, 1000, 0xbfdd89fdda922e6d}}) {
    const Picture resized = resize_bilinear(large, height, width);

    const std::string_view bytes(reinterpret_cast<const char*>(resized.rgb.data()),
                                 resized.rgb.size());
    EXPECT_EQ(fnv1a(bytes), digest) << width << "x" << height;
  }
}

TEST(ResizeBilinear, ToTheSameSizeChangesNothing) {
  const Picture picture = expected("noise_37x23");

  EXPECT_EQ(resize_bilinear(picture, 23, 37).rgb, picture.rgb);
}

}  // namespace
}  // namespace thinwire::eval
