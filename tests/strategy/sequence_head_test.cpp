// Copies of the class token are averaged before the head.
#include "thinwire/strategy/sequence_head.hpp"

#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/local_run.hpp"

namespace thinwire {
namespace {

TEST(SequenceHead, ReadsTheMeanOfAllDevicesCopies) {
  constexpr int kDevices = 3;
  constexpr Index kTokens = 7;
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "vit-tiny");
  const Index hidden = model.config().hidden;
  const auto value = [](int device, Index column) {
    return static_cast<float>((device + 1) * (column % 5)) - static_cast<float>(column % 3);
  };
  Matrix<float> mean(1, hidden), unused(0, 0), expected(1, model.config().labels);
  for (Index c = 0; c < hidden; ++c)
    mean(0, c) = (value(0, c) + value(1, c) + value(2, c)) / float{kDevices};
  Operations operations;
  model.head().normalise(mean.view(), operations);
  model.head().classify(mean.view(), unused.view(), expected.view(), operations);

  test::on_devices(kDevices, [&](fabric::Transport& transport) {
    const int device = transport.rank();
    const strategy::Layout layout{{{1, 2}, {3, 2}, {5, 2}}, device, 1};
    strategy::SequenceHead head(model,
                                {.device = device, .devices = kDevices, .lengths = {kTokens}},
                                std::span(&layout, 1));
    Matrix<float> x(layout.local_rows(), hidden);
    for (Index c = 0; c < hidden; ++c) x(0, c) = value(device, c);
    const auto fabric = fabric::make_fabric(transport, {});
    fabric->begin_iteration();

    const strategy::Output output = head(layout, {}, x.view(), *fabric);

    EXPECT_EQ(fabric->end_iteration().traffic.wire_bytes, device == 0 ? 0 : 4 * hidden);
    ASSERT_EQ(output.values.rows(), device == 0 ? 1 : 0);
    if (device != 0) return;
    EXPECT_LE(test::relative_difference(output.values, expected.view()), 1e-6);
  });
}

}  // namespace
}  // namespace thinwire
