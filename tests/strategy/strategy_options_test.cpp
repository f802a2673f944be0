#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {
namespace {

TEST(StrategyOptions, NamesGoBothWays) {
  for (const char* name : {"partitioned", "replicated"})
    EXPECT_EQ(to_string(parse_class_token(name)), name);
  for (const char* name : {"replicated", "terminal"}) EXPECT_EQ(to_string(parse_io(name)), name);
  for (const char* name : {"last", "all"}) EXPECT_EQ(to_string(parse_collect(name)), name);
}

TEST(StrategyOptions, UnknownNamesAreRefused) {
  EXPECT_THROW(parse_class_token("copied"), InputError);
  EXPECT_THROW(parse_io("local"), InputError);
  EXPECT_THROW(parse_collect("first"), InputError);
}

}  // namespace
}  // namespace thinwire::strategy
