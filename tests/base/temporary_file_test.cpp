#include "thinwire/base/temporary_file.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(TemporaryFile, AppearsWholeAtItsDestination) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "out") << "before";

  {
    TemporaryFile file(folder / "out");
    file.append("new", 3);
    EXPECT_EQ(read(folder / "out"), "before");
    file.move_to_destination();
  }

  EXPECT_EQ(read(folder / "out"), "new");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(TemporaryFile, LeavesNothingWhenItIsNotMoved) {
  const test::TemporaryFolder folder;

  { TemporaryFile(folder / "out").append("half", 4); }

  EXPECT_EQ(files_in(folder.path()), 0U);
}

TEST(TemporaryFile, NamesAPlaceThatCannotBeWritten) {
  const std::string message =
      test::input_error([] { const TemporaryFile file("/nowhere/at/all/out"); });

  EXPECT_TRUE(test::mentions(message, {"/nowhere/at/all/out", "No such file"}));
}

TEST(TemporaryFile, DoesNotReplaceDevicesAndFolders) {
  const test::TemporaryFolder folder;

  EXPECT_THROW(TemporaryFile{"/dev/null"}, InputError);
  EXPECT_THROW(TemporaryFile{folder.path()}, InputError);
}

}  // namespace
}  // namespace thinwire
