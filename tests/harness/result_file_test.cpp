#include "thinwire/harness/result_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

using test::mentions;

class ResultFileTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "results.jsonl"; }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  std::string read() const {
    std::ostringstream text;
    text << std::ifstream(file()).rdbuf();
    return text.str();
  }
  std::string refusal() const {
    try {
      const ResultFile opened(file());
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

 private:
  test::TemporaryFolder folder_;
};

Json record(const std::string& id, const std::string& status = "ok", std::size_t filler = 0) {
  return {{"schema", "thinwire.result/1"},
          {"id", id},
          {"status", status},
          {"filler", std::string(filler, 'x')}};
}

TEST_F(ResultFileTest, AppendsRecordsThatAreReadBack) {
  ResultFile(file()).append(record("a"));
  ResultFile(file()).append(record("b"));

  const std::vector<Json> records = read_records(file());

  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1]["id"], "b");
}

TEST_F(ResultFileTest, WritesNothingUntilTheFirstRecord) {
  const ResultFile opened(file());

  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(ResultFileTest, KnowsWhichPointsNeedNoRepetition) {
  ResultFile out(file());
  out.append(record("good"));
  out.append(record("bad", "failed"));
  out.append(record("big", "skipped"));
  out.append(record("second try", "failed"));
  out.append(record("second try", "ok"));

  EXPECT_EQ(ResultFile(file()).finished_ids(),
            (std::set<std::string>{"good", "big", "second try"}));
}

TEST_F(ResultFileTest, KnowsTheLatestRecordOfAPointAndWhereItIs) {
  write(record("a").dump() + "\n" + record("b", "failed").dump() + "\n");
  const std::int64_t before = end_of_records(file());
  ResultFile(file()).append(record("a", "failed"));

  const ResultFile out(file());

  ASSERT_NE(out.latest("a"), nullptr);
  EXPECT_EQ(out.latest("a")->status, "failed");
  EXPECT_EQ(out.latest("a")->offset, before);
  EXPECT_LT(out.latest("b")->offset, before);
  EXPECT_EQ(out.latest("c"), nullptr);
  EXPECT_EQ(out.finished_ids(), std::set<std::string>{"a"});
}

TEST_F(ResultFileTest, RecordsAFailureOnce) {
  ResultFile(file()).append(record("a", "failed"));
  const std::int64_t since = end_of_records(file());

  for (int rank = 0; rank < 3; ++rank) append_unless_there(file(), record("a", "failed"), since);

  EXPECT_EQ(read_records(file()).size(), 2U);
}

TEST_F(ResultFileTest, MakesNoFileForAFailure) {
  append_unless_there(file(), record("a", "failed"), 0);

  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(ResultFileTest, CutsOffAPartialRecordAlone) {
  const std::string whole = record("a").dump() + "\n";
  for (const std::string& rest : {std::string(), record("b").dump().substr(0, 30)}) {
    write(whole + rest);

    cut_off_partial_record(file());

    EXPECT_EQ(read(), whole);
  }
}

TEST_F(ResultFileTest, CutsOffTheRecordOfAKilledRun) {
  const std::string whole = record("a").dump() + "\n";
  const std::string next = record("b", "ok", 100'000).dump();
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{10}, std::size_t{40}, next.size() - 1}) {
    SCOPED_TRACE(length);
    write(whole + next.substr(0, length));

    ResultFile out(file());
    EXPECT_EQ(out.finished_ids(), std::set<std::string>{"a"});
    out.append(record("c"));

    const std::string expected = whole + record("c").dump() + "\n";
    EXPECT_EQ(read(), expected);
  }
}

TEST_F(ResultFileTest, KeepsAWholeLastRecordWithoutALineBreak) {
  write(record("a").dump());

  ResultFile(file()).append(record("b"));

  EXPECT_EQ(read_records(file()).size(), 2U);
}

TEST_F(ResultFileTest, RefusesAnotherSchemaAndLeavesTheFileAlone) {
  const std::string text = record("a").dump() + "\n{\"schema\":\"thinwire.result/2\"}\n";
  write(text);

  EXPECT_TRUE(mentions(
      refusal(), {"line 2", "thinwire.result/2", "thinwire.result/1", "choose another file"}));
  EXPECT_EQ(read(), text);
}

TEST_F(ResultFileTest, ServesAnotherSchema) {
  constexpr const char* kOther = "thinwire.other/1";
  const Json other{{"schema", kOther}, {"value", 1}};
  write(other.dump() + "\n" + other.dump().substr(0, 12));

  ResultFile(file(), kOther).append(other);

  EXPECT_EQ(read_records(file(), kOther), std::vector<Json>(2, other));
  EXPECT_TRUE(mentions(refusal(), {"line 1", kOther, "thinwire.result/1"}));
}

TEST_F(ResultFileTest, RefusesWhatIsNotARecord) {
  for (const char* text :
       {"hello\n", "some notes", "{\"a\": 1}\n", "[1]\n", "3", "{\"schema\": 5}"}) {
    write(text);

    EXPECT_TRUE(mentions(refusal(), {"line 1", "choose another file"})) << text;
    EXPECT_EQ(read(), text);
  }
}

TEST_F(ResultFileTest, RefusesPlacesThatCannotBeWritten) {
  EXPECT_THROW(ResultFile("/nowhere/at/all/results.jsonl"), InputError);
  EXPECT_THROW(ResultFile(file().parent_path()), InputError);
  EXPECT_THROW(read_records(file()), InputError);
}

TEST_F(ResultFileTest, KeepsRecordsOfSeveralProcessesAndThreadsWhole) {
  constexpr int kProcesses = 3, kThreads = 3, kRecords = 8;

  for (int p = 0; p < kProcesses; ++p) {
    if (::fork() != 0) continue;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, p, t] {
        for (int i = 0; i < kRecords; ++i)
          ResultFile(file()).append(record(std::to_string(p * 1000 + t * 100 + i), "ok", 20'000));
      });
    for (std::thread& thread : threads) thread.join();
    ::_exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = -1;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }

  EXPECT_EQ(ResultFile(file()).finished_ids().size(),
            static_cast<std::size_t>(kProcesses * kThreads * kRecords));
}

TEST(ResultFileStdout, PrintsOneLine) {
  testing::internal::CaptureStdout();

  ResultFile("-").append(record("a"));

  EXPECT_EQ(testing::internal::GetCapturedStdout(), record("a").dump() + "\n");
}

}  // namespace
}  // namespace thinwire::harness
