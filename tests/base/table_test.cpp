#include "thinwire/base/table.hpp"

#include <gtest/gtest.h>

#include <array>

namespace thinwire {
namespace {

struct Entry {
  std::string_view name;
  int value;
};
constexpr std::array kBuiltIn = {Entry{"one", 1}, Entry{"two", 2}};

TEST(Table, HoldsWhatIsBuiltInThenWhatIsAdded) {
  Table<Entry> table(kBuiltIn);

  table.add({"three", 3});

  ASSERT_EQ(table.entries().size(), 3U);
  EXPECT_EQ(table.entries()[0].value, 1);
  EXPECT_EQ(table.entries()[2].value, 3);
}

TEST(Table, RemovesByNameAndForgivesAnAbsentOne) {
  Table<Entry> table(kBuiltIn);

  table.remove("one");
  table.remove("absent");

  ASSERT_EQ(table.entries().size(), 1U);
  EXPECT_EQ(table.entries()[0].name, "two");
}

TEST(Table, RefusesATakenName) {
  Table<Entry> table(kBuiltIn);

  EXPECT_THROW(table.add({"two", 4}), Error);

  EXPECT_EQ(table.entries().size(), 2U);
}

}  // namespace
}  // namespace thinwire
