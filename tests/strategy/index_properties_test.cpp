// What must hold of the strategies that send codeword indices, for any input (METHODS 8).
#include <gtest/gtest.h>

#include "support/codebooks.hpp"

namespace thinwire {
namespace {

using compress::Buffers;
using compress::CodebookSet;
using compress::CodebookUse;
using strategy::ClassToken;
using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr double kExact = 1e-4;  // fp32 in another order of sums, relative to the largest value
constexpr double kHalf = 2e-3;   // K and V through fp16
constexpr const char* kIndexed[] = {"astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"};
constexpr const char* kModels[] = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};

bool is_equal(const PassResult& a, const PassResult& b) {
  return std::ranges::equal(a.values.view().elements(), b.values.view().elements()) &&
         std::ranges::equal(a.hidden.back().view().elements(), b.hidden.back().view().elements());
}

double difference(const PassResult& a, const PassResult& b) {
  return std::max(test::relative_difference(a.values.view(), b.values.view()),
                  test::relative_difference(a.hidden.back().view(), b.hidden.back().view()));
}

class Indexed : public testing::TestWithParam<const char*> {
 protected:
  PassResult run_lossless(const char* strategy, int devices, const CodebookUse& use,
                          StrategyOptions options = {}) const {
    const CodebookSet codebooks =
        test::make_lossless_codebooks(model_, strategy, devices, use, options, input_);
    options.codebooks = &codebooks;
    return run_pass(model_, strategy, devices, options, input_);
  }
  PassResult run_random(const char* strategy, int devices, const CodebookUse& use,
                        StrategyOptions options = {}) const {
    const CodebookSet codebooks = test::make_random_codebooks(model_, use, 8);
    options.codebooks = &codebooks;
    return run_pass(model_, strategy, devices, options, input_);
  }
  bool has_class_token() const { return model_.config().head == model::HeadKind::class_token; }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);
};

TEST_P(Indexed, ACodewordForEveryRowLosesNothing) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  for (const char* strategy : kIndexed) {
    SCOPED_TRACE(strategy);
    CodebookUse use = test::codebook_use(strategy);
    use.buffers = Buffers::off;
    for (const int devices : {2, 3})
      EXPECT_LE(difference(run_lossless(strategy, devices, use), single), kExact)
          << devices << " devices";
  }
  CodebookUse grouped = test::codebook_use("astra");
  grouped.groups = 3;
  EXPECT_LE(difference(run_lossless("astra", 3, grouped), single), kExact) << "in groups";
}

TEST_P(Indexed, BuffersOfEveryRowLoseHalfPrecisionOnly) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  for (const char* strategy : {"trace-b", "trace-2a"})
    for (const Buffers buffers : {Buffers::kv, Buffers::hidden}) {
      SCOPED_TRACE(testing::Message() << strategy << " " << compress::to_string(buffers));
      CodebookUse use = test::codebook_use(strategy);
      use.buffers = buffers;
      EXPECT_LE(difference(run_lossless(strategy, 3, use), single), kHalf);
    }
}

TEST_P(Indexed, BuffersChangeNothingBeyondHalfPrecision) {
  for (const char* strategy : {"trace-b", "trace-2a"}) {
    SCOPED_TRACE(strategy);
    CodebookUse use = test::codebook_use(strategy);
    use.buffers = Buffers::off;
    const PassResult off = run_random(strategy, 3, use);
    for (const Buffers buffers : {Buffers::kv, Buffers::hidden}) {
      use.buffers = buffers;
      EXPECT_LE(difference(run_random(strategy, 3, use), off), kHalf)
          << compress::to_string(buffers);
    }
  }
}

TEST_P(Indexed, AReplicatedClassTokenLosesNothingEither) {
  if (!has_class_token()) GTEST_SKIP() << "no class token";
  const PassResult single = run_pass(model_, "single", 1, {}, input_);
  const CodebookUse use = test::codebook_use("astra");

  for (const int devices : {2, 3, 4}) {
    SCOPED_TRACE(devices);
    const PassResult replicated =
        run_lossless("astra", devices, use, {.class_token = ClassToken::replicated});
    EXPECT_LE(difference(replicated, single), kExact);

    const Index local = (input_.tokens(model_.config()) - 1) / devices;
    const auto sent = replicated.iterations[1].traffic.payload_bits;
    EXPECT_EQ(sent, (devices == 2 ? input_.tokens(model_.config()) - 1 - local : local) * 16 *
                            model_.config().layers +
                        32 * model_.config().hidden);
    EXPECT_EQ(replicated.iterations[0].traffic.payload_bits, local * 16 * model_.config().layers);
  }
}

TEST_P(Indexed, AReplicatedClassTokenIsNotThePartitionedOne) {
  if (!has_class_token()) GTEST_SKIP() << "no class token";
  const CodebookUse use = test::codebook_use("astra");

  EXPECT_GT(difference(run_random("astra", 3, use, {.class_token = ClassToken::replicated}),
                       run_random("astra", 3, use)),
            1e-3);
}

TEST_P(Indexed, OverlapChangesNoNumber) {
  for (const char* strategy : kIndexed) {
    SCOPED_TRACE(strategy);
    const CodebookUse use = test::codebook_use(strategy);
    EXPECT_TRUE(is_equal(run_random(strategy, 3, use, {.overlap = true}),
                         run_random(strategy, 3, use, {.overlap = false})));
  }
  for (const char* strategy : {"voltage", "prism"}) {
    SCOPED_TRACE(strategy);
    EXPECT_TRUE(is_equal(run_pass(model_, strategy, 3, {.segments = 1, .overlap = true}, input_),
                         run_pass(model_, strategy, 3, {.segments = 1, .overlap = false}, input_)));
  }
}

TEST_P(Indexed, PackedIndicesAreTheSameNumbersInFewerBits) {
  const CodebookUse use = test::codebook_use("astra");
  const PassResult wide = run_random("astra", 3, use);
  const PassResult packed =
      run_random("astra", 3, use, {.index_bits = compress::IndexBits::packed});

  EXPECT_TRUE(is_equal(wide, packed));
  for (std::size_t p = 0; p < 3; ++p)  // 8 codewords: 3 bits instead of 16
    EXPECT_EQ(packed.iterations[p].traffic.payload_bits * 16,
              wide.iterations[p].traffic.payload_bits * 3);
}

TEST_P(Indexed, OneDeviceIsTheSingleDeviceAndNeedsNoCodebook) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  for (const char* strategy : kIndexed) {
    SCOPED_TRACE(strategy);
    EXPECT_TRUE(is_equal(run_pass(model_, strategy, 1, {}, input_), single));
  }
  if (!has_class_token()) return;
  EXPECT_TRUE(is_equal(
      run_pass(model_, "astra", 1, {.class_token = ClassToken::replicated}, input_), single));
}

TEST_P(Indexed, AWorkspaceForLongSequencesServesShortOnes) {
  if (!model_.config().is_text()) GTEST_SKIP() << "one length only";
  for (const char* strategy : kIndexed) {
    SCOPED_TRACE(strategy);
    const CodebookSet codebooks =
        test::make_random_codebooks(model_, test::codebook_use(strategy), 8);
    const StrategyOptions options{.codebooks = &codebooks};
    model::ModelInput input = model::random_input(model_.config(), 13, 7);
    input.real.assign(13, 1);
    const PassResult alone = run_pass(model_, strategy, 3, options, input);

    test::on_devices(3, [&](fabric::Transport& transport) {
      const auto runner =
          strategy::make_strategy(strategy, model_, options,
                                  {.device = transport.rank(), .devices = 3, .lengths = {29, 13}});
      const auto fabric = fabric::make_fabric(transport, {});
      fabric->begin_iteration();
      runner->forward(model::random_input(model_.config(), 29, 8), *fabric);
      const strategy::Output output = runner->forward(input, *fabric);

      if (output.values.size() == 0) return;
      const bool is_whole = output.rows.size == 0;
      EXPECT_LE(test::relative_difference(
                    output.values,
                    is_whole ? alone.values.view()
                             : alone.values.view().rows(output.rows.begin, output.rows.size)),
                1e-6);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Indexed, testing::ValuesIn(kModels));

TEST(IndexedOverlap, HidesTransfersThatWaitingAtOnceShows) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "vit-tiny");
  const model::ModelInput input = model::random_input(model.config(), 17, 7);
  const CodebookSet codebooks =
      test::make_random_codebooks(model, test::codebook_use("trace-b"), 8);
  const fabric::FabricOptions modelled{.clock = fabric::Clock::modelled,
                                       .links = {{.rates = {Rate::parse("0.1Mbps")}}},
                                       .device_flops_per_s = {1e9, 1e9}};
  StrategyOptions options{.codebooks = &codebooks};

  const auto overlapped = run_pass(model, "trace-b", 2, options, input, 0, modelled);
  options.overlap = false;
  const auto waiting = run_pass(model, "trace-b", 2, options, input, 0, modelled);

  for (std::size_t p = 0; p < 2; ++p) {
    EXPECT_GT(overlapped.iterations[p].links[0].hidden_s, 0);
    EXPECT_LT(overlapped.iterations[p].links[0].wait_s, waiting.iterations[p].links[0].wait_s);
    EXPECT_EQ(waiting.iterations[p].links[0].hidden_s, 0);
    EXPECT_EQ(waiting.iterations[p].links[0].compute_s,
              overlapped.iterations[p].links[0].compute_s);
  }
}

TEST(IndexedCausality, ALaterTokenLeavesEarlierLogitsAlone) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "gpt2-tiny");
  const model::ModelInput input = model::random_input(model.config(), 23, 7);
  constexpr Index kChanged = 14;
  model::ModelInput changed = input;
  changed.ids[kChanged] = (changed.ids[kChanged] + 1) % 96;

  for (const char* strategy : kIndexed) {
    SCOPED_TRACE(strategy);
    const CodebookSet codebooks =
        test::make_random_codebooks(model, test::codebook_use(strategy), 64);
    const StrategyOptions options{.codebooks = &codebooks};
    const PassResult before = run_pass(model, strategy, 3, options, input);
    const PassResult after = run_pass(model, strategy, 3, options, changed);

    for (Index token = 0; token < kChanged; ++token)
      EXPECT_TRUE(
          std::ranges::equal(before.values.view().row(token), after.values.view().row(token)))
          << "token " << token;
    EXPECT_GT(test::relative_difference(after.values.view().rows(kChanged, 1),
                                        before.values.view().rows(kChanged, 1)),
              1e-3);
  }
}

TEST(IndexedPadding, PaddedTokensChangeNothingForRealOnes) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
  model::ModelInput input = model::random_input(model.config(), 24, 7);
  input.real.assign(24, 1);
  std::fill(input.real.begin() + 10, input.real.end(), 0);  // devices 2 and 3 of 4 see padding only
  model::ModelInput other = input;
  for (std::size_t t = 10; t < 24; ++t) other.ids[t] = static_cast<std::int32_t>(t);

  for (const char* strategy : kIndexed) {
    SCOPED_TRACE(strategy);
    const CodebookSet codebooks =
        test::make_random_codebooks(model, test::codebook_use(strategy), 64);
    const StrategyOptions options{.codebooks = &codebooks};
    const PassResult a = run_pass(model, strategy, 4, options, input);
    const PassResult b = run_pass(model, strategy, 4, options, other);

    EXPECT_TRUE(std::ranges::equal(a.values.view().row(0), b.values.view().row(0)));
  }
}

class IndexedErrors : public testing::Test {
 protected:
  static strategy::DeviceRole role(int devices, Index tokens) {
    return {.device = 0, .devices = devices, .lengths = {tokens}};
  }
  template <class Wrong>
  void expect_refused(const char* strategy, const StrategyOptions& options, int devices,
                      Index tokens, const char* part) {
    try {
      strategy::make_strategy(strategy, model_, options, role(devices, tokens));
      FAIL() << "accepted";
    } catch (const Wrong& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
};

TEST_F(IndexedErrors, ALevelThatTheCodebooksLackIsRefused) {
  const CodebookSet codebooks =
      test::make_random_codebooks(model_, test::codebook_use("trace-b"), 16);
  for (const int level : {4, -2})
    expect_refused<InputError>("trace-b", {.codebooks = &codebooks, .level = level}, 2, 12,
                               "codebooks with 4 levels");
}

TEST_F(IndexedErrors, CodebooksOfAnotherStrategyOrNoneAreRefused) {
  const CodebookSet codebooks =
      test::make_random_codebooks(model_, test::codebook_use("trace-b"), 8);
  for (const char* strategy : {"astra", "trace-nb", "trace-2a", "trace-1b"})
    expect_refused<Error>(strategy, {.codebooks = &codebooks}, 2, 12, "of another");
  for (const char* strategy : kIndexed) expect_refused<Error>(strategy, {}, 2, 12, "no codebooks");
}

TEST_F(IndexedErrors, AReplicatedClassTokenNeedsAHeadThatReadsIt) {
  const CodebookSet codebooks = test::make_random_codebooks(model_, test::codebook_use("astra"), 8);
  expect_refused<InputError>(
      "astra", {.codebooks = &codebooks, .class_token = ClassToken::replicated}, 2, 12, "ViT");
}

}  // namespace
}  // namespace thinwire
