#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "thinwire/base/error.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire {
namespace {

namespace fs = std::filesystem;

fs::path empty_folder(const char* name) {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  fs::create_directory(folder);
  return folder;
}

std::string read_all(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

constexpr std::array<float, 6> kFloats = {1, 2, 3, 4, 5, 6};
constexpr std::array<std::int32_t, 2> kIntegers = {-1, 7};
constexpr std::array<std::uint16_t, 2> kHalves = {0x3c00, 0xc000};  // 1, -2

TEST(SafetensorsWriter, WritesWhatIsReadBack) {
  const fs::path file = empty_folder("thinwire_writer") / "out.safetensors";
  SafetensorsWriter writer;
  writer.add("z", {2, 3}, std::span<const float>(kFloats));
  writer.add("a \"quoted\" name", {2}, std::span<const std::int32_t>(kIntegers));
  writer.add("halves", {2}, std::span<const std::uint16_t>(kHalves));
  writer.add("empty", {0, 4}, std::span<const float>());
  writer.add_metadata("source", "test");

  writer.write(file);

  const SafetensorsFile read(file);
  EXPECT_EQ(read.tensors().size(), 4U);
  EXPECT_EQ(read.at("z").shape, (std::vector<Index>{2, 3}));
  EXPECT_EQ(read.floats("z"), std::vector<float>(kFloats.begin(), kFloats.end()));
  EXPECT_EQ(read.integers("a \"quoted\" name"), (std::vector<std::int32_t>{-1, 7}));
  EXPECT_EQ(read.at("halves").type, ElementType::f16);
  EXPECT_EQ(read.floats("halves"), (std::vector<float>{1.0F, -2.0F}));
  EXPECT_EQ(read.at("empty").shape, (std::vector<Index>{0, 4}));
  EXPECT_EQ(read.metadata().at("source"), "test");
}

TEST(SafetensorsWriter, AlignsTheDataAndKeepsTheOrder) {
  const fs::path file = empty_folder("thinwire_writer") / "out.safetensors";
  for (const char* name : {"z", "zz", "zzz"}) {
    SafetensorsWriter writer;
    writer.add(name, {6}, std::span<const float>(kFloats));
    writer.add("a", {2}, std::span<const std::int32_t>(kIntegers));

    writer.write(file);

    const std::string bytes = read_all(file);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    EXPECT_EQ(header % 8, 0U);
    ASSERT_EQ(bytes.size(), 8 + header + 24 + 8);
    EXPECT_EQ(std::memcmp(bytes.data() + 8 + header, kFloats.data(), 24), 0);
  }
}

TEST(SafetensorsWriter, WritesAFileWithoutTensors) {
  const fs::path file = empty_folder("thinwire_writer") / "out.safetensors";

  SafetensorsWriter().write(file);

  EXPECT_TRUE(SafetensorsFile(file).tensors().empty());
}

TEST(SafetensorsWriter, ReplacesAFileAndLeavesNothingElse) {
  const fs::path folder = empty_folder("thinwire_writer");
  SafetensorsWriter writer;
  writer.add("a", {2}, std::span<const std::int32_t>(kIntegers));
  std::ofstream(folder / "out.safetensors") << "old";

  writer.write(folder / "out.safetensors");

  EXPECT_TRUE(SafetensorsFile(folder / "out.safetensors").has("a"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(SafetensorsWriter, NamesAPlaceThatCannotBeWritten) {
  try {
    SafetensorsWriter().write("/nonexistent/out.safetensors");
    FAIL() << "written";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "cannot write /nonexistent/out.safetensors: No such file or directory");
  }
}

TEST(SafetensorsWriter, LeavesNoTemporaryFileWhenItFails) {
  const fs::path folder = empty_folder("thinwire_writer");
  fs::create_directory(folder / "out.safetensors");  // a folder cannot be replaced by a file

  EXPECT_THROW(SafetensorsWriter().write(folder / "out.safetensors"), InputError);

  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(SafetensorsWriter, RefusesBrokenContracts) {
  SafetensorsWriter writer;
  writer.add("a", {2}, std::span<const std::int32_t>(kIntegers));

  EXPECT_THROW(writer.add("a", {2}, std::span<const std::int32_t>(kIntegers)), Error);
  EXPECT_THROW(writer.add("b", {3}, std::span<const std::int32_t>(kIntegers)), Error);
  EXPECT_THROW(writer.add("__metadata__", {2}, std::span<const std::int32_t>(kIntegers)), Error);
}

}  // namespace
}  // namespace thinwire
