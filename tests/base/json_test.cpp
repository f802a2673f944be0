#include "thinwire/base/json.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

std::filesystem::path write_file(const char* name, const char* text) {
  const auto file = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(file) << text;
  return file;
}

std::string refusal(const std::filesystem::path& file) {
  try {
    read_json(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(FiniteOrNull, KeepsNumbersAndDropsWhatJsonLacks) {
  EXPECT_EQ(finite_or_null(1.5), Json(1.5));
  EXPECT_TRUE(finite_or_null(std::numeric_limits<double>::infinity()).is_null());
  EXPECT_TRUE(finite_or_null(std::numeric_limits<double>::quiet_NaN()).is_null());
}

TEST(ReadJson, KeepsTheOrderOfKeys) {
  const auto file = write_file("thinwire_order.json", R"({"z": 1, "a": [2, 3]})");

  EXPECT_EQ(read_json(file).dump(), R"({"z":1,"a":[2,3]})");
}

TEST(ReadJson, NamesTheFileAndThePlaceOfAMistake) {
  const auto file = write_file("thinwire_broken.json", "{\n\"a\": ]");

  const std::string message = refusal(file);

  EXPECT_TRUE(message.starts_with(file.string() + " is not valid JSON: parse error at line 2"))
      << message;
}

TEST(ReadJson, NamesAnUnreadableFile) {
  EXPECT_EQ(refusal("/nonexistent/x.json"),
            "cannot read /nonexistent/x.json: No such file or directory");
  EXPECT_EQ(refusal("/"), "/ is a folder, not a JSON file");
}

}  // namespace
}  // namespace thinwire
