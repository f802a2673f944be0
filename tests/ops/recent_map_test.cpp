#include "recent_map.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace thinwire::ops {
namespace {

TEST(RecentMap, DropsWhatWasNotUsedForLongest) {
  RecentMap<int, int> map(3);
  for (const int key : {1, 2, 3}) map.insert(key, 10 * key);
  ASSERT_NE(map.find(1), nullptr);

  map.insert(4, 40);

  EXPECT_EQ(map.size(), 3U);
  EXPECT_EQ(map.find(2), nullptr);  // 1 was found later
  for (const int key : {1, 3, 4}) {
    ASSERT_NE(map.find(key), nullptr) << key;
    EXPECT_EQ(*map.find(key), 10 * key);
  }
}

TEST(RecentMap, WhatWasJustFoundStaysWhileAnotherIsInserted) {
  RecentMap<int, std::unique_ptr<int>> map(2);
  map.insert(1, std::make_unique<int>(10));
  map.insert(2, std::make_unique<int>(20));

  const std::unique_ptr<int>* const first = map.find(1);
  map.insert(3, std::make_unique<int>(30));

  ASSERT_EQ(map.find(1), first);
  EXPECT_EQ(**first, 10);
  EXPECT_EQ(map.find(2), nullptr);
}

TEST(RecentMap, NeedsRoomForTwo) {
  EXPECT_THROW((RecentMap<int, int>(1)), Error);
}

}  // namespace
}  // namespace thinwire::ops
