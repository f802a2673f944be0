#include "link_shim/settings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "thinwire/base/error.hpp"

namespace thinwire::link_shim {
namespace {

using Variables = std::map<std::string, std::string>;

Settings read(const Variables& variables) {
  return read_settings([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables) {
  try {
    read(variables);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Settings, WithoutARateNothingIsShaped) {
  EXPECT_FALSE(read({}).link.has_value());
  EXPECT_FALSE(read({{"THINWIRE_LATENCY", "1ms"}}).link.has_value());
  EXPECT_FALSE(read({}).report);
}

TEST(Settings, ReadsTheLink) {
  const Settings settings = read({{"THINWIRE_RATE", "10Mbps:1Mbps"},
                                  {"THINWIRE_LATENCY", "2ms"},
                                  {"THINWIRE_TOPOLOGY", "shared"},
                                  {"THINWIRE_OVERHEAD", "tcp"},
                                  {"THINWIRE_REPORT", "1"}});

  ASSERT_TRUE(settings.link.has_value());
  EXPECT_EQ(fabric::to_string(*settings.link), "10 Mbps:1 Mbps, 2 ms, shared, overhead tcp");
  EXPECT_TRUE(settings.report);
}

TEST(Settings, NamesTheVariableTheValueAndWhatWouldBeRight) {
  EXPECT_EQ(refusal({{"THINWIRE_RATE", "10"}}),
            "THINWIRE_RATE: rate=10 has no unit (write 10Mbps, 250kbps or unlimited)");
  EXPECT_EQ(refusal({{"THINWIRE_RATE", ""}}).substr(0, 15), "THINWIRE_RATE: ");
  EXPECT_EQ(refusal({{"THINWIRE_RATE", "1Mbps"}, {"THINWIRE_LATENCY", "-1ms"}}),
            "THINWIRE_LATENCY: time=-1ms is negative (write 2ms, 150us or 1.5s)");
  EXPECT_EQ(refusal({{"THINWIRE_OVERHEAD", "ip"}}),
            "THINWIRE_OVERHEAD: 'ip' is neither none, tcp nor HEADERS/PAYLOAD (66B/1448B)");
  EXPECT_EQ(refusal({{"THINWIRE_REPORT", "yes"}}), "THINWIRE_REPORT: value=yes is neither 0 nor 1");
  EXPECT_EQ(refusal({{"THINWIRE_TOPOLOGY", "ring"}}).substr(0, 41),
            "THINWIRE_TOPOLOGY: topology=ring is unkno");
}

}  // namespace
}  // namespace thinwire::link_shim
