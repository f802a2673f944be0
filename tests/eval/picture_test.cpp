#include "thinwire/eval/picture.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::eval {
namespace {

const std::filesystem::path kPictures = std::filesystem::path(THINWIRE_TEST_DATA) / "pictures";

std::vector<std::int32_t> pillows_bytes(const std::string& name) {
  return SafetensorsFile(kPictures / "expected.safetensors").integers(name);
}

TEST(ReadPicture, DecodesEveryKindOfPngAsRgb) {
  for (const char* name :
       {"noise_37x23", "noise_5x7", "stripes_64x48", "grey_9x6", "palette_64x48", "alpha_9x6"}) {
    SCOPED_TRACE(name);

    const Picture picture = read_picture(kPictures / (std::string(name) + ".png"));

    EXPECT_EQ(std::vector<std::int32_t>(picture.rgb.begin(), picture.rgb.end()),
              pillows_bytes(name));
  }
}

TEST(ReadPicture, KnowsHeightFromWidth) {
  const Picture picture = read_picture(kPictures / "noise_37x23.png");

  EXPECT_EQ(picture.height, 23);
  EXPECT_EQ(picture.width, 37);
}

TEST(ReadPicture, DecodesJpegAsPillowDoes) {
  const Picture picture = read_picture(kPictures / "smooth_56x40.jpg");

  EXPECT_EQ(std::vector<std::int32_t>(picture.rgb.begin(), picture.rgb.end()),
            pillows_bytes("smooth_56x40"));
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What read_picture says about a file of these bytes.
std::string refusal_of(const std::string& bytes) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "broken", std::ios::binary) << bytes;
  return test::input_error([&] { read_picture(folder / "broken"); });
}

TEST(ReadPicture, NamesAFileThatIsNoPicture) {
  EXPECT_TRUE(test::mentions(refusal_of("not a picture"), {"broken", "JPEG or PNG"}));
  EXPECT_TRUE(test::mentions(refusal_of(""), {"broken", "JPEG or PNG"}));
  EXPECT_TRUE(test::mentions(test::input_error([&] { read_picture(kPictures / "absent.png"); }),
                             {"absent.png", "cannot be read"}));
}

TEST(ReadPicture, RefusesPicturesThatAreCutShort) {
  for (const char* name : {"smooth_56x40.jpg", "noise_37x23.png"}) {
    const std::string whole = bytes_of(kPictures / name);
    for (const std::size_t part : {2, 3, 7})
      EXPECT_TRUE(test::mentions(refusal_of(whole.substr(0, whole.size() * part / 8)), {"broken"}))
          << name << ", " << part << " eighths";
  }
}

// Found by fuzzing: more Huffman codes than there are values wrote behind the decoder's table.
TEST(ReadPicture, RefusesAHuffmanTableWithMoreCodesThanValues) {
  std::string picture = bytes_of(kPictures / "smooth_56x40.jpg");
  const std::size_t table = picture.find("\xFF\xC4");
  ASSERT_NE(table, std::string::npos);
  for (std::size_t i = 0; i < 16; ++i) picture[table + 5 + i] = '\xFF';

  EXPECT_TRUE(test::mentions(refusal_of(picture), {"broken", "JPEG or PNG"}));
}

// A file of some bytes may claim to be any size.
TEST(ReadPicture, RefusesMorePixelsThanAModelLooksAt) {
  std::string picture = bytes_of(kPictures / "smooth_56x40.jpg");
  const std::size_t frame = picture.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  for (const std::size_t i : {5, 7}) picture[frame + i] = '\x20';  // height, width: 0x20..

  const std::string refusal = refusal_of(picture);

  EXPECT_TRUE(test::mentions(refusal, {"8248 x 8232", "33554432"}));
}

/// A folder with a preprocessor_config.json.
class PreprocessingFor : public testing::Test {
 protected:
  Preprocessing read(const Json& json) const {
    std::ofstream(folder_ / "preprocessor_config.json") << json.dump();
    return preprocessing_for(vit_, folder_.path());
  }
  std::string refusal(const Json& json) const {
    return test::input_error([&] { read(json); });
  }

  test::TemporaryFolder folder_;
  model::ModelConfig vit_ = model::preset("vit-base-16");
};

TEST_F(PreprocessingFor, WithoutAFileIsTheModelsSizeAndHalf) {
  for (const auto& folder : {std::filesystem::path(), folder_.path()}) {
    const Preprocessing preprocessing = preprocessing_for(vit_, folder);

    EXPECT_EQ(preprocessing.height, 224);
    EXPECT_EQ(preprocessing.width, 224);
    EXPECT_EQ(preprocessing.mean, (std::array{0.5F, 0.5F, 0.5F}));
    EXPECT_EQ(preprocessing.deviation, (std::array{0.5F, 0.5F, 0.5F}));
  }
}

TEST_F(PreprocessingFor, ReadsMeanAndDeviation) {
  const Preprocessing preprocessing = read({{"size", {{"height", 224}, {"width", 224}}},
                                            {"resample", 2},
                                            {"rescale_factor", 0.00392156862745098},
                                            {"image_mean", {0.25, 0.5, 0.75}},
                                            {"image_std", {0.1, 0.2, 0.4}}});

  EXPECT_EQ(preprocessing.mean, (std::array{0.25F, 0.5F, 0.75F}));
  EXPECT_EQ(preprocessing.deviation, (std::array{0.1F, 0.2F, 0.4F}));
}

TEST_F(PreprocessingFor, WithoutNormalisationKeepsZeroToOne) {
  const Preprocessing preprocessing = read({{"do_normalize", false}, {"size", 224}});

  EXPECT_EQ(preprocessing.mean, (std::array{0.0F, 0.0F, 0.0F}));
  EXPECT_EQ(preprocessing.deviation, (std::array{1.0F, 1.0F, 1.0F}));
}

TEST_F(PreprocessingFor, RefusesWhatItDoesNotDo) {
  EXPECT_TRUE(test::mentions(refusal({{"resample", 3}}), {"resample", "3", "bilinear"}));
  EXPECT_TRUE(test::mentions(refusal({{"size", 256}}), {"size", "256", "224x224"}));
  EXPECT_TRUE(test::mentions(refusal({{"size", {{"shortest_edge", 224}}}}), {"size", "224x224"}));
  EXPECT_TRUE(test::mentions(refusal({{"image_mean", {0.5}}}), {"image_mean", "three numbers"}));
  EXPECT_TRUE(test::mentions(refusal({{"image_std", {0.5, 0, 1}}}), {"image_std", "0"}));
  EXPECT_TRUE(test::mentions(refusal({{"do_rescale", false}}), {"do_rescale"}));
  EXPECT_TRUE(test::mentions(refusal({{"do_center_crop", true}}), {"do_center_crop"}));
  EXPECT_TRUE(test::mentions(refusal({{"rescale_factor", 1}}), {"rescale_factor", "1/255"}));
}

TEST(ToPixels, NormalisesEachChannelInItsOwnPlane) {
  const Picture picture{1, 2, {0, 51, 255, 255, 102, 0}};
  const Preprocessing preprocessing{1, 2, {0, 0.2F, 0.5F}, {1, 0.5F, 0.25F}};

  const std::vector<float> pixels = to_pixels(picture, preprocessing);

  ASSERT_EQ(pixels.size(), 6U);
  EXPECT_FLOAT_EQ(pixels[0], 0);  // red of both pixels
  EXPECT_FLOAT_EQ(pixels[1], 1);
  EXPECT_NEAR(pixels[2], 0, 1e-7);  // (51 / 255 - 0.2) / 0.5
  EXPECT_FLOAT_EQ(pixels[3], 0.4F);
  EXPECT_FLOAT_EQ(pixels[4], 2);  // (1 - 0.5) / 0.25
  EXPECT_FLOAT_EQ(pixels[5], -2);
}

TEST(ToPixels, ResizesFirst) {
  const Picture picture = read_picture(kPictures / "noise_37x23.png");
  const Preprocessing preprocessing{32, 32, {0, 0, 0}, {1, 1, 1}};
  const std::vector<std::int32_t> wanted = pillows_bytes("noise_37x23.32x32");

  const std::vector<float> pixels = to_pixels(picture, preprocessing);

  ASSERT_EQ(pixels.size(), 3U * 32 * 32);
  for (std::size_t i = 0; i < 32 * 32; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_EQ(std::lround(pixels[c * 1024 + i] * 255), wanted[3 * i + c]);
}

}  // namespace
}  // namespace thinwire::eval
