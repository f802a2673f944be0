#include "thinwire/harness/device_profile.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::harness {
namespace {

using test::input_error;
using test::mentions;

Json document() {
  return Json::parse(R"({
    "schema": "thinwire.profile/1",
    "device": {"model": "vit-base-16", "threads": 1, "memory_bytes": 1000000000,
               "gflops_by_rows": [{"rows": 100, "gflops": 40}, {"rows": 10, "gflops": 20}]},
    "link": {"rate_bit_per_s": 1e7, "latency_s": 0.002, "topology": "broadcast",
             "overhead": "tcp"}})");
}

TEST(DeviceProfile, InterpolatesBetweenRowsAndStopsAtTheEnds) {
  const DeviceProfile profile = profile_from_json(document());

  EXPECT_DOUBLE_EQ(profile.flops_per_s_at(1), 20e9);
  EXPECT_DOUBLE_EQ(profile.flops_per_s_at(10), 20e9);
  EXPECT_DOUBLE_EQ(profile.flops_per_s_at(55), 30e9);
  EXPECT_DOUBLE_EQ(profile.flops_per_s_at(100), 40e9);
  EXPECT_DOUBLE_EQ(profile.flops_per_s_at(5000), 40e9);
}

TEST(DeviceProfile, GivesEachDeviceTheRateOfItsRows) {
  DeviceProfile slow = profile_from_json(document());
  for (DeviceProfile::Rate& rate : slow.rates) rate.flops_per_s /= 2;
  const DeviceRates rates = rates_of({profile_from_json(document()), slow});

  EXPECT_EQ(rates(std::vector<Index>{10, 100}), (std::vector<double>{20e9, 20e9}));
}

TEST(DeviceProfile, ReadsMemoryAndLinkWhereTheyWereMeasured) {
  const DeviceProfile whole = profile_from_json(document());
  EXPECT_EQ(whole.model, "vit-base-16");
  EXPECT_EQ(whole.memory, Bytes(1'000'000'000));
  const RunSpec spec = make_run_spec(whole.link);
  EXPECT_EQ(spec.links().front(), (fabric::Link{.rates = {Rate::parse("10Mbps")},
                                                .latency = Seconds(0.002),
                                                .topology = fabric::Topology::broadcast,
                                                .overhead = fabric::kTcpOverhead}));

  Json without = document();
  without["link"] = nullptr;
  without["device"].erase("memory_bytes");
  EXPECT_TRUE(profile_from_json(without).link.empty());
  EXPECT_FALSE(profile_from_json(without).memory.has_value());
}

std::string refusal(const std::function<void(Json&)>& change) {
  return input_error([&] {
    Json broken = document();
    change(broken);
    profile_from_json(broken);
  });
}

TEST(DeviceProfile, SaysWhatIsWrongWithAFile) {
  using Change = std::pair<std::function<void(Json&)>, std::string_view>;
  for (const auto& [change, expected] :
       {Change{[](Json& d) { d["schema"] = "thinwire.result/1"; }, "thinwire.profile/1"},
        Change{[](Json& d) { d = Json::array(); }, "thinwire.profile/1"},
        Change{[](Json& d) { d["device"].erase("gflops_by_rows"); }, "gflops_by_rows"},
        Change{[](Json& d) { d["device"]["gflops_by_rows"] = Json::array(); }, "gflops_by_rows"},
        Change{[](Json& d) { d["device"]["gflops_by_rows"][0]["gflops"] = 0; }, "above 0, not 0"},
        Change{[](Json& d) { d["device"]["gflops_by_rows"][0]["rows"] = 1.5; }, "not 1.5"},
        Change{[](Json& d) { d["device"]["gflops_by_rows"][0]["rows"] = 10; }, "10 rows twice"},
        Change{[](Json& d) { d["device"]["memory_bytes"] = -1; }, "memory_bytes"},
        Change{[](Json& d) { d["link"]["topology"] = "ring"; }, "topology=ring"},
        Change{[](Json& d) { d["link"]["overhead"] = "udp"; }, "udp"},
        Change{[](Json& d) { d["link"]["rate_bit_per_s"] = "fast"; }, "rate_bit_per_s"}})
    EXPECT_TRUE(mentions(refusal(change), {expected}));
}

}  // namespace
}  // namespace thinwire::harness
