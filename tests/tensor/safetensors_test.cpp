#include "thinwire/tensor/safetensors.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

const std::filesystem::path kFile =
    std::filesystem::path(testing::TempDir()) / "thinwire_safetensors_test.safetensors";

/// Writes length field, header and data as given: the defects are the tests' own.
void write_raw(const std::string& header, const std::string& data, std::uint64_t length) {
  std::ofstream stream(kFile, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(&length), sizeof length);
  stream << header << data;
}

void write_raw(const std::string& header, const std::string& data) {
  write_raw(header, data, header.size());
}

std::string entry(const char* type, const char* shape, const char* offsets) {
  return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", type, shape, offsets);
}

/// The message with which the file is refused, without its common beginning; "" when it opens.
std::string refusal() {
  try {
    const SafetensorsFile file(kFile);
  } catch (const InputError& error) {
    const std::string message = error.what();
    const std::string start = kFile.string() + " is not a valid safetensors file: ";
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(start.size(), message.size()));
  }
  return "";
}

std::string refusal_of(const std::string& tensor, std::size_t data_bytes) {
  write_raw("{\"t\":" + tensor + "}", std::string(data_bytes, '\0'));
  return refusal();
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

TEST(SafetensorsFile, ReadsTheGoldenFile) {
  const SafetensorsFile file(THINWIRE_TEST_DATA "/golden/units.safetensors");

  EXPECT_EQ(file.metadata().at("format"), "thinwire.golden/1");
  EXPECT_TRUE(file.has("means.x"));
  EXPECT_FALSE(file.has("means"));
  EXPECT_EQ(file.at("means.x").shape, (std::vector<Index>{11, 5}));
  EXPECT_EQ(file.at("means.x").type, ElementType::f32);
  EXPECT_EQ(file.floats("means.x").size(), 55U);
  EXPECT_EQ(file.integers("means.l4.counts"), (std::vector<std::int32_t>{2, 2, 2, 5}));
}

TEST(SafetensorsFile, WidensEveryFloatingPointType) {
  write_raw("{\"a\":" + entry("F32", "[2]", "[0,8]") + ",\"b\":" + entry("F16", "[2]", "[8,12]") +
                ",\"c\":" + entry("BF16", "[1,2]", "[12,16]") + "}",
            bytes_of<float>({1.5F, -2.0F}) + bytes_of<std::uint16_t>({0x3c00, 0x0001}) +
                bytes_of<std::uint16_t>({0x3f80, 0xc000}));
  const SafetensorsFile file(kFile);

  EXPECT_EQ(file.floats("a"), (std::vector<float>{1.5F, -2.0F}));
  EXPECT_EQ(file.floats("b"), (std::vector<float>{1.0F, 0x1p-24F}));
  EXPECT_EQ(file.floats("c"), (std::vector<float>{1.0F, -2.0F}));
  EXPECT_THROW(file.integers("a"), InputError);
}

TEST(SafetensorsFile, ReadsEveryIntegerType) {
  write_raw("{\"a\":" + entry("I32", "[2]", "[0,8]") + ",\"b\":" + entry("I64", "[2]", "[8,24]") +
                ",\"c\":" + entry("U8", "[3]", "[24,27]") +
                ",\"d\":" + entry("I64", "[1]", "[27,35]") + "}",
            bytes_of<std::int32_t>({-7, 8}) + bytes_of<std::int64_t>({-(1LL << 31), 5}) +
                bytes_of<std::uint8_t>({0, 127, 255}) + bytes_of<std::int64_t>({1LL << 31}));
  const SafetensorsFile file(kFile);

  EXPECT_EQ(file.integers("a"), (std::vector<std::int32_t>{-7, 8}));
  EXPECT_EQ(file.integers("b"), (std::vector<std::int32_t>{-2147483647 - 1, 5}));
  EXPECT_EQ(file.integers("c"), (std::vector<std::int32_t>{0, 127, 255}));
  EXPECT_THROW(file.integers("d"), InputError);
  EXPECT_THROW(file.floats("a"), InputError);
}

TEST(SafetensorsFile, StaysValidWhenMoved) {
  write_raw("{\"a\":" + entry("F32", "[1]", "[0,4]") + "}", bytes_of<float>({3.0F}));
  SafetensorsFile file(kFile);

  const SafetensorsFile moved = std::move(file);

  EXPECT_EQ(moved.floats("a"), (std::vector<float>{3.0F}));
}

TEST(SafetensorsFile, AcceptsEmptyTensorsScalarsAndUnknownTypes) {
  write_raw("{\"a\":" + entry("F32", "[0,3]", "[0,0]") + ",\"b\":" + entry("F32", "[]", "[0,4]") +
                ",\"c\":" + entry("X7", "[5]", "[4,7]") + "}",
            std::string(7, '\0'));
  const SafetensorsFile file(kFile);

  EXPECT_TRUE(file.floats("a").empty());
  EXPECT_EQ(file.floats("b").size(), 1U);
  EXPECT_EQ(file.at("c").type, ElementType::other);
  EXPECT_EQ(file.at("c").type_name, "X7");
}

TEST(SafetensorsFile, NamesAnAbsentTensorItsFileAndTheNearest) {
  write_raw("{\"encoder.weight\":" + entry("F32", "[]", "[0,4]") + "}", std::string(4, '\0'));
  const SafetensorsFile file(kFile);

  try {
    file.at("encoder.wieght");
    FAIL() << "found";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(),
              kFile.string() + " has no tensor encoder.wieght (did you mean encoder.weight?)");
  }
}

TEST(SafetensorsFile, RefusesAFileThatIsTooShort) {
  std::ofstream(kFile, std::ios::binary) << "abc";
  EXPECT_EQ(refusal(), "3 bytes, the length field alone takes 8");
  std::ofstream(kFile, std::ios::binary) << "";
  EXPECT_EQ(refusal(), "0 bytes, the length field alone takes 8");
  write_raw("{}", "", 3);
  EXPECT_EQ(refusal(), "truncated, 2 bytes after the length field of a header of 3");
}

TEST(SafetensorsFile, RefusesAnAbsurdHeaderLength) {
  write_raw("{}", "", 100'000'001);
  EXPECT_EQ(refusal(), "a header of 100000001 bytes (at most 100000000)");
  write_raw("{}", "", ~std::uint64_t{0});
  EXPECT_NE(refusal(), "");
}

TEST(SafetensorsFile, RefusesAHeaderThatIsNoJsonObject) {
  write_raw("{\"a\":", "");
  EXPECT_EQ(refusal(), "the header is not JSON");
  write_raw("[1]", "");
  EXPECT_EQ(refusal(), "the header is not a JSON object");
  write_raw("", "");
  EXPECT_EQ(refusal(), "the header is not JSON");
  write_raw("{\"\xff\":1}", "");
  EXPECT_EQ(refusal(), "the header is not JSON");
}

TEST(SafetensorsFile, RefusesBrokenEntries) {
  EXPECT_EQ(refusal_of("3", 0), "tensor t lacks dtype, shape or data_offsets");
  EXPECT_EQ(refusal_of(R"({"dtype":"F32","shape":[]})", 0),
            "tensor t lacks dtype, shape or data_offsets");
  EXPECT_EQ(refusal_of(R"({"dtype":1,"shape":[],"data_offsets":[0,4]})", 4),
            "tensor t: dtype is not a string");
  EXPECT_EQ(refusal_of(entry("F32", "3", "[0,4]"), 4), "tensor t: shape is not a list");
}

TEST(SafetensorsFile, RefusesBrokenShapes) {
  EXPECT_EQ(refusal_of(entry("F32", "[-1]", "[0,4]"), 4),
            "tensor t: -1 in its shape is not a size");
  EXPECT_EQ(refusal_of(entry("F32", "[1.5]", "[0,4]"), 4),
            "tensor t: 1.5 in its shape is not a size");
  EXPECT_EQ(refusal_of(entry("F32", "[9223372036854775808]", "[0,4]"), 4),
            "tensor t: 9223372036854775808 in its shape is not a size");
  EXPECT_EQ(refusal_of(entry("F32", "[4294967296,4294967296]", "[0,4]"), 4),
            "tensor t: the shape [4294967296, 4294967296] is too large");
  EXPECT_EQ(refusal_of(entry("F32", "[4611686018427387905]", "[0,4]"), 4),
            "tensor t: the shape [4611686018427387905] is too large");
  EXPECT_EQ(refusal_of(entry("F32", "[2,3]", "[0,20]"), 20),
            "tensor t: F32 of [2, 3] takes 24 bytes, its data_offsets span 20");
  EXPECT_EQ(refusal_of(entry("F64", "[1]", "[0,4]"), 4),
            "tensor t: F64 of [1] takes 8 bytes, its data_offsets span 4");
}

TEST(SafetensorsFile, RefusesBrokenOffsets) {
  EXPECT_EQ(refusal_of(entry("F32", "[1]", "[4,0]"), 4),
            "tensor t: data_offsets [4,0] run backwards");
  EXPECT_EQ(refusal_of(entry("F32", "[1]", "[0,4]"), 3),
            "tensor t ends at byte 4 of 3 (truncated?)");
  EXPECT_EQ(refusal_of(entry("F32", "[1]", "[-4,0]"), 4),
            "tensor t: data_offsets [-4,0] are not two offsets");
  EXPECT_EQ(refusal_of(entry("F32", "[1]", "[0]"), 4),
            "tensor t: data_offsets [0] are not two offsets");
  EXPECT_NE(refusal_of(entry("F32", "[1]", "[18446744073709551612,18446744073709551615]"), 4), "");
}

TEST(SafetensorsFile, RefusesOverlapAndRepetition) {
  const std::string data(8, '\0');
  write_raw(
      "{\"b\":" + entry("F32", "[1]", "[2,6]") + ",\"a\":" + entry("F32", "[1]", "[0,4]") + "}",
      data);
  EXPECT_EQ(refusal(), "tensors a and b overlap");
  write_raw(
      "{\"a\":" + entry("F32", "[1]", "[0,4]") + ",\"a\":" + entry("F32", "[1]", "[4,8]") + "}",
      data);
  EXPECT_EQ(refusal(), "tensor a appears twice");
}

TEST(SafetensorsFile, RefusesMetadataThatIsNotText) {
  write_raw(R"({"__metadata__":{"a":1}})", "");
  EXPECT_EQ(refusal(), "__metadata__: the value of a is not a string");
  write_raw(R"({"__metadata__":[]})", "");
  EXPECT_EQ(refusal(), "__metadata__ is not a JSON object");
}

TEST(SafetensorsFile, NamesAnUnreadablePlace) {
  EXPECT_THROW(SafetensorsFile("/nonexistent/model.safetensors"), InputError);
  EXPECT_THROW(SafetensorsFile(testing::TempDir()), InputError);
}

TEST(Widen, GivesAnyPart) {
  write_raw("{\"a\":" + entry("F16", "[5]", "[0,10]") + "}",
            bytes_of<std::uint16_t>({0x3c00, 0x4000, 0x4200, 0x4400, 0x4500}));  // 1 2 3 4 5
  const SafetensorsFile file(kFile);
  std::vector<float> out(3);

  widen(file.at("a"), 1, out);

  EXPECT_EQ(out, (std::vector<float>{2, 3, 4}));
  EXPECT_THROW(widen(file.at("a"), 3, out), Error);
  EXPECT_THROW(widen(file.at("a"), -1, out), Error);
}

TEST(SafetensorsFile, WidensTheMiniLmModel) {
  const std::filesystem::path folder = THINWIRE_SHARED_DIR "/models";
  std::error_code ignored;
  std::filesystem::path model;
  for (const auto& place : std::filesystem::recursive_directory_iterator(folder, ignored))
    if (place.path().filename() == "model.safetensors" &&
        place.path().string().find("minilm") != std::string::npos)
      model = place.path();
  if (model.empty()) GTEST_SKIP() << "no MiniLM model below " << folder;
  const SafetensorsFile file(model);
  Index elements = 0;

  const auto start = std::chrono::steady_clock::now();
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.type != ElementType::f16) continue;
    const std::vector<float> values = file.floats(name);
    elements += std::ssize(values);
    ASSERT_TRUE(std::isfinite(std::accumulate(values.begin(), values.end(), 0.0))) << name;
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;

  EXPECT_GT(elements, 20'000'000);
  RecordProperty("seconds", std::to_string(time.count()));
}

}  // namespace
}  // namespace thinwire
