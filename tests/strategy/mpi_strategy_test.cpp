// The strategies over MPI, with as many devices as there are ranks: the same numbers, counts and
// modelled times as over threads of one process.
#include <gtest/gtest.h>

#include "support/codebooks.hpp"
#include "support/index_tables.hpp"
#include "support/mpi_session.hpp"
#include "thinwire/harness/capture.hpp"

namespace thinwire {
namespace {

constexpr const char* kModels[] = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};

class OverMpi : public testing::TestWithParam<const char*> {
 protected:
  void expect_same_as_threads(const char* strategy, const strategy::StrategyOptions& options,
                              const fabric::Loss& loss = {}) {
    expect_same_as_threads(model_, strategy, options, loss);
  }
  void expect_same_as_threads(const model::Model& model, const char* strategy,
                              const strategy::StrategyOptions& options,
                              const fabric::Loss& loss = {}) {
    SCOPED_TRACE(strategy);
    fabric::Transport& world = session_->world();
    const auto devices = static_cast<std::size_t>(world.size());
    const fabric::FabricOptions modelled{
        .clock = fabric::Clock::modelled,
        .links = {{.rates = {Rate::parse("10Mbps")}, .overhead = {8, 16}, .loss = loss}},
        .device_flops_per_s = std::vector<double>(devices, 1e9)};
    const auto runner = strategy::make_strategy(strategy, model, options,
                                                {.device = world.rank(),
                                                 .devices = world.size(),
                                                 .lengths = {input_.tokens(model.config())}});
    const auto fabric = fabric::make_fabric(world, modelled);
    fabric->begin_iteration();
    runner->forward(input_, *fabric);
    const fabric::DeviceIteration iteration = fabric->end_iteration();
    const harness::Capture over_mpi = harness::capture_pass(model, *runner, world, *fabric, input_);

    const test::PassResult threads =
        test::run_pass(model, strategy, world.size(), options, input_, 0, modelled);
    const auto& beside = threads.iterations[static_cast<std::size_t>(world.rank())];
    EXPECT_EQ(iteration.operations, beside.operations);
    EXPECT_EQ(iteration.traffic.payload_bits, beside.traffic.payload_bits);
    EXPECT_EQ(iteration.links[0].compute_s, beside.links[0].compute_s);
    EXPECT_EQ(iteration.links[0].wait_s, beside.links[0].wait_s);
    EXPECT_EQ(iteration.repeated_packets, beside.repeated_packets);
    EXPECT_EQ(iteration.losses, beside.losses);
    if (world.rank() == 0) {
      EXPECT_LE(test::relative_difference(over_mpi.values.view(), threads.values.view()), 1e-6);
      EXPECT_LE(
          test::relative_difference(over_mpi.hidden.back().view(), threads.hidden.back().view()),
          1e-6);
    }
  }

  std::unique_ptr<fabric::MpiSession> session_ = fabric::test::make_session();
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);
};

TEST_P(OverMpi, StrategiesDoWhatTheyDoOverThreads) {
  if (session_->size() == 1) expect_same_as_threads("single", {});
  expect_same_as_threads("voltage", {});
  expect_same_as_threads("prism", {.segments = 1});
}

TEST_P(OverMpi, ReducedPayloadsDoWhatTheyDoOverThreads) {
  using compress::RowFormat;
  for (const RowFormat payload : {RowFormat::fp16, RowFormat::bf16, RowFormat::int8}) {
    expect_same_as_threads("voltage", {.payload = payload});
    expect_same_as_threads("prism", {.segments = 1, .payload = payload});
  }
}

TEST_P(OverMpi, StrategiesThatSendIndicesDoWhatTheyDoOverThreads) {
  for (const char* strategy : {"astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"}) {
    const compress::CodebookSet codebooks =
        test::make_random_codebooks(model_, test::codebook_use(strategy), 8);
    expect_same_as_threads(strategy, {.codebooks = &codebooks});
  }
}

TEST_P(OverMpi, TheSamePacketsAreLost) {
  compress::CodebookUse use = test::codebook_use("trace-b");
  use.buffers = compress::Buffers::off;  // as reuse needs
  const compress::CodebookSet codebooks = test::make_random_codebooks(model_, use, 8);
  for (const auto policy :
       {fabric::OnLoss::retransmit, fabric::OnLoss::skip, fabric::OnLoss::reuse}) {
    const fabric::Loss loss{.probability = 0.2, .policy = policy, .seed = 11};
    expect_same_as_threads("voltage", {}, loss);
    expect_same_as_threads("prism", {.segments = 1}, loss);
    expect_same_as_threads("trace-b", {.codebooks = &codebooks, .on_loss = policy}, loss);
  }
}

TEST_P(OverMpi, CodedIndicesDoWhatTheyDoOverThreads) {
  if (session_->size() == 1) GTEST_SKIP() << "one device sends nothing";
  for (const char* strategy : {"astra", "trace-b", "trace-nb"}) {
    const compress::CodebookSet codebooks =
        test::make_tabled_codebooks(model_, strategy, session_->size(),
                                    test::codebook_use(strategy), 8, {}, std::span(&input_, 1));
    for (const auto coding : {compress::IndexCoding::entropy, compress::IndexCoding::cross_layer})
      expect_same_as_threads(strategy, {.codebooks = &codebooks, .index_coding = coding});
  }
}

/// What a controller chooses follows from times, and the next choice from that: equal in every
/// pass, whether sizes follow from levels alone or from indices as well.
TEST_P(OverMpi, ChosenLevelsAreThoseOverThreads) {
  fabric::Transport& world = session_->world();
  fabric::FabricOptions modelled{.clock = fabric::Clock::modelled,
                                 .links = {{.rates = {Rate::parse("20kbps")}}}};
  for (int p = 0; p < world.size(); ++p) {
    modelled.device_flops_per_s.push_back(1e8);
    modelled.slowness.push_back(1 + 20 * p);  // so that windows and levels differ
  }
  for (const auto& [strategy, coding] :
       {std::pair("trace-b", compress::IndexCoding::fixed),
        std::pair("trace-nb", compress::IndexCoding::fixed),
        std::pair("trace-b", compress::IndexCoding::cross_layer)}) {
    const bool is_coded = coding != compress::IndexCoding::fixed;
    if (is_coded && world.size() == 1) continue;  // one device sends nothing
    SCOPED_TRACE(strategy);
    const compress::CodebookUse use = test::codebook_use(strategy);
    const compress::CodebookSet codebooks =
        is_coded ? test::make_tabled_levels(model_, strategy, world.size(), use, 64, input_)
                 : test::make_random_codebooks(model_, use, 64);
    const strategy::StrategyOptions options{.codebooks = &codebooks,
                                            .level_control = strategy::LevelControl::adaptive,
                                            .index_coding = coding};
    const auto runner = strategy::make_strategy(strategy, model_, options,
                                                {.device = world.rank(),
                                                 .devices = world.size(),
                                                 .lengths = {input_.tokens(model_.config())}});
    const auto fabric = fabric::make_fabric(world, modelled);
    for (int pass = 0; pass < 3; ++pass) {
      fabric->begin_iteration();
      runner->forward(input_, *fabric);
      const fabric::DeviceIteration over_mpi = fabric->end_iteration();
      const test::PassResult threads = test::run_pass(model_, strategy, world.size(), options,
                                                      input_, 0, modelled, /*warmup=*/pass);
      const auto& beside = threads.iterations[static_cast<std::size_t>(world.rank())];
      EXPECT_EQ(over_mpi.traffic.payload_bits, beside.traffic.payload_bits) << "pass " << pass;
      EXPECT_EQ(over_mpi.links[0].wait_s, beside.links[0].wait_s);
    }
  }
}

TEST_P(OverMpi, ProductsInBf16DoWhatTheyDoOverThreads) {
  if (!ops::has_fast_bf16()) GTEST_SKIP() << "oneDNN has no bf16 instructions here";
  const model::Model model =
      test::load_model(test::kGoldenFolder / "models" / GetParam(), DType::bf16);
  const compress::CodebookSet codebooks =
      test::make_random_codebooks(model, test::codebook_use("trace-b"), 8);

  expect_same_as_threads(model, "voltage", {});
  expect_same_as_threads(model, "prism", {.segments = 1});
  expect_same_as_threads(model, "trace-b", {.codebooks = &codebooks});
}

INSTANTIATE_TEST_SUITE_P(Models, OverMpi, testing::ValuesIn(kModels));

}  // namespace
}  // namespace thinwire
