#include "thinwire/harness/sweep_plan.hpp"

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/expand.hpp"

namespace thinwire::harness {
namespace {

Json record(const std::string& id, const std::string& status) {
  return {{"schema", "thinwire.result/1"}, {"id", id}, {"status", status}};
}

class PendingPoints : public testing::Test {
 protected:
  PendingPoints() {
    for (const char* status : {"ok", "skipped", "failed"}) append(status, status);
    append("failed again", "ok");
    append("failed again", "failed");
    for (const char* id : {"ok", "skipped", "failed", "failed again", "new"})
      plan_.push_back({plan_.size(), id, 1});
  }
  std::filesystem::path file() const { return folder_ / "results.jsonl"; }
  void append(const std::string& id, const std::string& status) const {
    ResultFile(file()).append(record(id, status));
  }
  std::vector<std::string> pending(Selection selection, std::int64_t since) const {
    std::vector<std::string> ids;
    for (const PlannedPoint& point : pending_points(plan_, ResultFile(file()), selection, since))
      ids.push_back(point.id);
    return ids;
  }
  using Ids = std::vector<std::string>;

 private:
  test::TemporaryFolder folder_;
  std::vector<PlannedPoint> plan_;
};

TEST_F(PendingPoints, FollowTheSelection) {
  const std::int64_t since = end_of_records(file());

  EXPECT_EQ(pending(Selection::unfinished, since), (Ids{"failed", "new"}));
  EXPECT_EQ(pending(Selection::failed, since), (Ids{"failed", "failed again"}));
  EXPECT_EQ(pending(Selection::fresh, since), Ids{"new"});
  EXPECT_EQ(pending(Selection::all, since).size(), 5U);
}

TEST_F(PendingPoints, LeaveOutWhatThisSweepHasRecorded) {
  const std::int64_t since = end_of_records(file());
  append("failed", "failed");
  append("ok", "ok");

  EXPECT_EQ(pending(Selection::unfinished, since), Ids{"new"});
  EXPECT_EQ(pending(Selection::failed, since), Ids{"failed again"});
  EXPECT_EQ(pending(Selection::all, since), (Ids{"skipped", "failed again", "new"}));
}

TEST(PlanPoints, KnowsIdsAndWork) {
  const std::vector<RunSpec> points =
      expand({{"strategy", "voltage"}, {"devices", "2,4,300"}, {"iterations", "3"}});

  const std::vector<PlannedPoint> plan = plan_points(points, Source::measured);

  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].id, spec_id(points[0], "measured", {}));
  EXPECT_NE(plan[0].id, plan[1].id);
  EXPECT_GT(plan[0].work_flops, 0);
  EXPECT_EQ(plan[2].work_flops, 0);  // more devices than tokens
}

TEST(FailedRecord, SaysWhatFailedUnderTheIdOfThePoint) {
  const Json failed = failed_record({}, "0123456789abcdef", "rank 2: no");

  EXPECT_EQ(failed["id"], "0123456789abcdef");
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["reason"], "rank 2: no");
}

}  // namespace
}  // namespace thinwire::harness
