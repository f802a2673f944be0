#include "thinwire/fabric/mpi_session.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"
#include "support/mpi_session.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

TEST(MpiSession, KnowsItsPlace) {
  const auto session = test::make_session();

  EXPECT_TRUE(is_under_launcher());
  EXPECT_GE(session->rank(), 0);
  EXPECT_LT(session->rank(), session->size());
  EXPECT_EQ(session->world().rank(), session->rank());
  EXPECT_GE(session->hosts(), 1);
  EXPECT_LE(session->hosts(), session->size());
  EXPECT_LT(session->node_rank(), session->node_size());
  EXPECT_EQ(mpi_version().find(','), std::string::npos);
}

TEST(MpiSession, FirstRanksGetATransportTheOthersNone) {
  const auto session = test::make_session();
  for (int devices = 1; devices <= session->size(); ++devices) {
    SCOPED_TRACE(testing::Message() << devices << " devices");

    const auto transport = session->first_ranks(devices);

    ASSERT_EQ(transport != nullptr, session->rank() < devices);
    if (!transport) continue;
    EXPECT_EQ(transport->size(), devices);
    EXPECT_EQ(transport->rank(), session->rank());
    const auto all = gather_all(*transport, test::filled(transport->rank(), transport->rank()));
    for (int p = 0; p < devices; ++p)
      EXPECT_TRUE(test::is_filled(all[static_cast<std::size_t>(p)], p, p));
  }
  session->world().meet();  // where ranks beyond P sleep
}

TEST(MpiSession, RefusesMoreDevicesThanRanks) {
  const auto session = test::make_session();

  EXPECT_THROW(session->first_ranks(session->size() + 1), InputError);
  EXPECT_THROW(session->first_ranks(0), InputError);
}

}  // namespace
}  // namespace thinwire::fabric
