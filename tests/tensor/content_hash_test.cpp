#include "thinwire/tensor/content_hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace thinwire {
namespace {

std::uint64_t hash_of(std::initializer_list<std::string> parts) {
  ContentHash hash;
  for (const std::string& part : parts) hash.add(part);
  return hash.value();
}

TEST(ContentHash, IsTheSameForTheSameParts) {
  EXPECT_EQ(hash_of({"name", "contents"}), hash_of({"name", "contents"}));
}

TEST(ContentHash, TellsWhereOnePartEnds) {
  EXPECT_NE(hash_of({"ab", "c"}), hash_of({"a", "bc"}));
  EXPECT_NE(hash_of({"ab", "c"}), hash_of({"c", "ab"}));
}

TEST(ContentHash, NoticesEveryByteOfAnOddLength) {
  const std::string text(77, 'x');
  std::set<std::uint64_t> hashes = {hash_of({text})};

  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = 'y';
    hashes.insert(hash_of({changed}));
  }

  EXPECT_EQ(hashes.size(), text.size() + 1);
}

}  // namespace
}  // namespace thinwire
