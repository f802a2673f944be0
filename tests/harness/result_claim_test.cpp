#include "thinwire/harness/result_claim.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/result_file.hpp"

namespace thinwire::harness {
namespace {

using Holder = ResultClaim::Holder;
using test::mentions;

class ResultClaimTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "results.jsonl"; }
  std::string refusal(Holder holder) const {
    try {
      const ResultClaim claim(file(), holder);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(ResultClaimTest, IsGivenToOneAtATime) {
  for (const Holder holder : {Holder::alone, Holder::supervisor}) {
    const ResultClaim claim(file(), holder);

    for (const Holder other : {Holder::alone, Holder::supervisor})
      EXPECT_TRUE(mentions(refusal(other), {file().string(), "another sweep"}));
  }
  EXPECT_EQ(refusal(Holder::alone), "");
}

TEST_F(ResultClaimTest, LetsTheJobOfASupervisorWrite) {
  const ResultClaim supervisor(file(), Holder::supervisor);

  const ResultClaim job(file(), Holder::job);

  EXPECT_TRUE(job.is_file());
  EXPECT_NO_THROW(ResultFile(file()).append({{"schema", "thinwire.result/1"}, {"id", "a"}}));
}

TEST_F(ResultClaimTest, EndsWithItsProcess) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const ResultClaim claim(file(), Holder::alone);
    [[maybe_unused]] const auto told = ::write(pipe[1], "x", 1);
    ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(pipe[0], &told, 1), 1);
  EXPECT_NE(refusal(Holder::alone), "");

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);

  EXPECT_EQ(refusal(Holder::alone), "");
}

TEST_F(ResultClaimTest, MendsTheFile) {
  std::ofstream(file()) << "{\"schema\":\"thinwire.result/1\",\"id\":";

  const ResultClaim claim(file(), Holder::alone);

  EXPECT_EQ(end_of_records(file()), 0);
}

TEST_F(ResultClaimTest, NamesAPlaceThatCannotBeWritten) {
  EXPECT_THROW(ResultClaim("/nowhere/at/all.jsonl", Holder::alone), InputError);
  EXPECT_FALSE(ResultClaim("-", Holder::alone).is_file());
  EXPECT_FALSE(ResultClaim("/dev/null", Holder::alone).is_file());
}

}  // namespace
}  // namespace thinwire::harness
