#include "thinwire/fabric/node_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "devices.hpp"
#include "support/mpi_session.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

TEST(NodeMemory, AllRanksSeeWhatTheWriterWrote) {
  const auto session = test::make_session();
  NodeMemory memory(*session, std::int64_t{1} << 30);  // only touched pages are paid for
  auto* const first = static_cast<std::byte*>(memory.allocate(1000, 64));
  auto* const second = static_cast<std::byte*>(memory.allocate(5000, 64));

  if (memory.is_writer()) {
    std::memset(first, 1, 1000);
    std::memset(second, 2, 5000);
  }
  session->world().meet();

  EXPECT_TRUE(test::is_filled(std::span(first, 1000), 1000, 1));
  EXPECT_TRUE(test::is_filled(std::span(second, 5000), 5000, 2));
  EXPECT_EQ(memory.used_bytes(), 1024 + 5000);
  session->world().meet();
}

TEST(NodeMemory, HasOneWriterANode) {
  const auto session = test::make_session();
  NodeMemory memory(*session, 4096);

  EXPECT_EQ(memory.is_writer(), session->node_rank() == 0);
}

TEST(NodeMemory, AlignsWhatItHandsOut) {
  const auto session = test::make_session();
  NodeMemory memory(*session, 1 << 20);

  for (const std::size_t alignment : {1, 8, 64, 4096}) {
    const void* const place = memory.allocate(3, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % alignment, 0U);
  }
}

TEST(NodeMemory, GivesEveryRankPlacesOfItsOwn) {
  const auto session = test::make_session();
  NodeMemory memory(*session, 5000, NodeMemory::Places::own);
  auto* const mine = static_cast<std::byte*>(memory.allocate(4900, 64));
  const auto value = static_cast<unsigned char>(1 + session->rank());

  std::memset(mine, value, 4900);
  session->world().meet();

  EXPECT_TRUE(test::is_filled(std::span(mine, 4900), 4900, value));
  EXPECT_GE(memory.used_bytes(), 4900);
  EXPECT_THROW(static_cast<void>(memory.allocate(200, 1)), Error);
  session->world().meet();
}

TEST(NodeMemory, SaysWhenItIsUsedUp) {
  const auto session = test::make_session();
  NodeMemory memory(*session, 1000);
  static_cast<void>(memory.allocate(900, 1));

  EXPECT_THROW(static_cast<void>(memory.allocate(101, 1)), Error);
  EXPECT_NO_THROW(static_cast<void>(memory.allocate(100, 1)));
}

}  // namespace
}  // namespace thinwire::fabric
