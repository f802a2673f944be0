// A strategy that a program brings along is known by its name for as long as it is registered.
#include "thinwire/strategy/registration.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "thinwire/base/error.hpp"
#include "thinwire/cost/registration.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::strategy {
namespace {

std::unique_ptr<Strategy> make_nothing(const model::Model&, const StrategyOptions&,
                                       const DeviceRole&) {
  return nullptr;
}

cost::Prediction predict_one_block(const cost::Workload&) {
  return {.nominal_exchanges = 42};
}

constexpr StrategyEntry kOwn{"own", "does nothing", make_nothing, {}};

bool is_known(std::string_view name) {
  return std::ranges::count(strategy_names(), name) == 1;
}

TEST(Registration, AddsAStrategyWhileItLives) {
  ASSERT_FALSE(is_known("own"));
  const std::size_t built_in = strategies().size();
  {
    const Registration registration(kOwn);

    EXPECT_TRUE(is_known("own"));
    EXPECT_EQ(strategies().size(), built_in + 1);
    EXPECT_EQ(strategies().back().make, make_nothing);
  }
  EXPECT_FALSE(is_known("own"));
  EXPECT_EQ(strategies().size(), built_in);
}

TEST(Registration, OfATakenNameIsRefusedAndChangesNothing) {
  const Registration registration(kOwn);
  StrategyEntry voltage = kOwn;
  voltage.name = "voltage";

  EXPECT_THROW(const Registration again(kOwn), Error);
  EXPECT_THROW(const Registration replacing(voltage), Error);

  EXPECT_TRUE(is_known("own"));
  EXPECT_TRUE(is_known("voltage"));
}

TEST(Registration, OfAPredictionServesPredictWhileItLives) {
  const model::ModelConfig model = model::preset("vit-base-16");
  const cost::Workload workload{.model = model, .tokens = model.tokens, .strategy = "own"};
  {
    const cost::Registration registration({"own", predict_one_block});

    EXPECT_EQ(cost::predict(workload).nominal_exchanges, 42);
  }
  EXPECT_THROW(cost::predict(workload), InputError);
}

}  // namespace
}  // namespace thinwire::strategy
