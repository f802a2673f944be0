// --index-coding: answers to the bit those of fixed indices, in frames that are never much longer.
#include <gtest/gtest.h>

#include <functional>
#include <iterator>

#include "predicted.hpp"
#include "support/index_tables.hpp"
#include "support/messages.hpp"
#include "thinwire/strategy/trace.hpp"

namespace thinwire {
namespace {

using compress::CodebookSet;
using compress::IndexCoding;
using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr const char* kIndexed[] = {"astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"};
constexpr IndexCoding kCodings[] = {IndexCoding::entropy, IndexCoding::cross_layer};

bool is_equal(const PassResult& a, const PassResult& b) {
  return std::ranges::equal(a.values.view().elements(), b.values.view().elements()) &&
         std::ranges::equal(a.hidden.back().view().elements(), b.hidden.back().view().elements());
}

std::int64_t wire_bytes(const PassResult& pass) {
  std::int64_t bytes = 0;
  for (const fabric::DeviceIteration& device : pass.iterations) bytes += device.traffic.wire_bytes;
  return bytes;
}

std::string message_of_error(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Coded : public testing::TestWithParam<const char*> {
 protected:
  model::ModelInput input(std::uint64_t seed) const {
    const model::ModelConfig& config = model_.config();
    return model::random_input(config, config.is_text() ? 23 : config.tokens, seed);
  }
  /// Tables from the input itself and another one.
  CodebookSet codebooks(const char* strategy, int devices, const StrategyOptions& options = {},
                        Index groups = 1) const {
    compress::CodebookUse use = test::codebook_use(strategy);
    use.groups = groups;
    std::vector<model::ModelInput> inputs;
    for (const std::uint64_t seed : {7, 8}) inputs.push_back(input(seed));
    return test::make_tabled_codebooks(model_, strategy, devices, use, 32, options, inputs);
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
};

TEST_P(Coded, AnswersAreThoseOfFixedIndices) {
  for (const char* strategy : kIndexed)
    for (const int devices : {2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << strategy << " P=" << devices);
      const CodebookSet set = codebooks(strategy, devices);
      StrategyOptions options{.codebooks = &set};
      for (const std::uint64_t seed : {7, 9}) {  // 9: no statistics saw it
        options.index_coding = IndexCoding::fixed;
        const PassResult fixed = run_pass(model_, strategy, devices, options, input(seed));
        for (const IndexCoding coding : kCodings) {
          options.index_coding = coding;
          EXPECT_TRUE(is_equal(run_pass(model_, strategy, devices, options, input(seed)), fixed))
              << compress::to_string(coding) << " of input " << seed;
        }
      }
    }
}

TEST_P(Coded, LevelsAndGroupsAndCopiesAnswerAlike) {
  struct Way {
    const char* strategy;
    StrategyOptions options;
    Index groups = 1;
  };
  std::vector<Way> ways = {{"trace-b", {.level = 2}}, {"trace-nb", {.level = 0}}, {"astra", {}, 3}};
  if (model_.config().head == model::HeadKind::class_token)
    ways.push_back({"astra", {.class_token = strategy::ClassToken::replicated}});
  for (const Way& way : ways) {
    SCOPED_TRACE(testing::Message() << way.strategy << " G=" << way.groups);
    const CodebookSet set = codebooks(way.strategy, 3, way.options, way.groups);
    StrategyOptions options = way.options;
    options.codebooks = &set;
    const PassResult fixed = run_pass(model_, way.strategy, 3, options, input(7));
    options.index_coding = IndexCoding::cross_layer;
    EXPECT_TRUE(is_equal(run_pass(model_, way.strategy, 3, options, input(7)), fixed));
  }
}

TEST_P(Coded, WhatTheTablesKnowTakesFewerBytes) {
  for (const char* strategy : {"astra", "trace-b"}) {
    SCOPED_TRACE(strategy);
    const CodebookSet set = codebooks(strategy, 2);
    StrategyOptions options{.codebooks = &set};
    const std::int64_t fixed = wire_bytes(run_pass(model_, strategy, 2, options, input(7)));
    options.index_coding = IndexCoding::cross_layer;

    EXPECT_LT(wire_bytes(run_pass(model_, strategy, 2, options, input(7))), fixed);
  }
}

/// Operations and memory are as predicted, and no frame is longer than the longest.
TEST_P(Coded, CountsStayWithinTheWorstCase) {
  for (const char* strategy : kIndexed)
    for (const IndexCoding coding : kCodings) {
      SCOPED_TRACE(testing::Message() << strategy << " " << compress::to_string(coding));
      const CodebookSet set = codebooks(strategy, 3);
      const test::Setting setting{strategy, 3, {.codebooks = &set, .index_coding = coding}};
      const model::ModelInput sequence = input(9);
      const PassResult ours = run_pass(model_, strategy, 3, setting.options, sequence);
      cost::Workload workload =
          test::workload_of(model_, setting, sequence.tokens(model_.config()), &set);
      workload.index_coding = coding;
      const cost::Prediction worst = cost::predict(workload);
      workload.expected_index_bits.assign(static_cast<std::size_t>(model_.config().layers), 1.5);
      const cost::Prediction expected = cost::predict(workload);

      for (std::size_t p = 0; p < ours.iterations.size(); ++p) {
        const fabric::Traffic& traffic = ours.iterations[p].traffic;
        EXPECT_EQ(ours.iterations[p].operations, worst.device_operations[p]);
        EXPECT_EQ(ours.workspace_bytes[p], worst.memory[p].activations) << "device " << p;
        EXPECT_EQ(traffic.header_bits, worst.header_bits[p]);
        EXPECT_LE(traffic.wire_bytes, worst.wire_bytes[p]);
        EXPECT_LT(expected.payload_bits[p], worst.payload_bits[p]);
        EXPECT_EQ(expected.header_bits[p], worst.header_bits[p]);
        EXPECT_EQ(8 * expected.wire_bytes[p],
                  expected.payload_bits[p] + expected.header_bits[p] + expected.padding_bits[p]);
      }
    }
}

/// Tables of all levels are held beside the codebooks, once, as their own sizes say.
TEST_P(Coded, TablesAreHeldAsTheySay) {
  for (const char* strategy : {"astra", "trace-b", "trace-2a"}) {
    SCOPED_TRACE(strategy);
    const compress::CodebookUse use = test::codebook_use(strategy);
    const auto random = compress::random_codebooks(model_.config(), use, 32, 5);
    test::TabledCodebooks source(model_, use, *random);
    TrackingResource without, with;
    const CodebookSet plain(model_, use, source, {&without});
    const CodebookSet tabled(model_, use, source, {&with}, compress::WithIndexTables::yes);

    std::int64_t bytes = 0;
    for (Index exchange = use.codes(0) ? 0 : 1; exchange < model_.config().layers; ++exchange)
      for (int level = 0; level < std::ssize(tabled.levels()); ++level)
        for (const compress::IndexTables& tables : tabled.index_tables(exchange, level))
          bytes += tables.memory_bytes();
    EXPECT_EQ(with.held_bytes() - without.held_bytes(), bytes);

    const test::Setting setting{strategy, 3, {.index_coding = IndexCoding::entropy}};
    cost::Workload workload =
        test::workload_of(model_, setting, input(7).tokens(model_.config()), &plain);
    const cost::Memory fixed = cost::predict(workload).memory[0];
    workload.index_tables_bytes = bytes;
    const cost::Memory coded = cost::predict(workload).memory[0];
    EXPECT_EQ(coded.codebooks - fixed.codebooks, bytes);
  }
}

/// The terminal makes exchange 0, in fixed frames: devices learn no previous indices from it.
TEST_P(Coded, TerminalsAnswerAlike) {
  constexpr int kDevices = 3;
  for (const char* strategy : kIndexed) {
    SCOPED_TRACE(strategy);
    const CodebookSet set = codebooks(strategy, kDevices);
    const model::ModelInput sequence = input(7);
    const auto answer = [&](IndexCoding coding) {
      const StrategyOptions options{
          .codebooks = &set, .index_coding = coding, .io = strategy::Io::terminal};
      const auto inner = fabric::make_local_transports(kDevices);
      Matrix<float> values;
      test::on_devices(kDevices + 1, [&](fabric::Transport& all) {
        const auto rank = static_cast<std::size_t>(all.rank());
        const auto runner =
            strategy::make_strategy(strategy, model_, options,
                                    {all.rank(), kDevices, 1, {sequence.tokens(model_.config())}});
        const auto fabric = fabric::make_fabric_with_terminal(
            all, rank < kDevices ? inner[rank].get() : nullptr, {});
        fabric->begin_iteration();
        const strategy::Output output = runner->forward(sequence, *fabric);
        fabric->end_iteration();
        if (rank < kDevices) return;
        values = Matrix<float>(output.values.rows(), output.values.cols());
        copy<float>(output.values, values.view());
      });
      return values;
    };

    const Matrix<float> fixed = answer(IndexCoding::fixed);
    for (const IndexCoding coding : kCodings)
      EXPECT_TRUE(std::ranges::equal(answer(coding).view().elements(), fixed.view().elements()));
  }
}

/// Two sequences at once: each has previous indices of its own.
TEST_P(Coded, BatchesKeepTheirSequencesApart) {
  const CodebookSet set = codebooks("trace-b", 2);
  const StrategyOptions options{.codebooks = &set, .index_coding = IndexCoding::cross_layer};
  const model::ModelInput first = input(7), second = input(9);
  std::vector<std::vector<float>> together(4);  // [device * 2 + item]
  test::on_devices(2, [&](fabric::Transport& transport) {
    const auto runner = strategy::make_strategy("trace-b", model_, options,
                                                {.device = transport.rank(),
                                                 .devices = 2,
                                                 .lengths = {first.tokens(model_.config())},
                                                 .batch = 2});
    const auto fabric = fabric::make_fabric(transport, {});
    const strategy::BatchItem items[] = {{&first}, {&second}};
    fabric->begin_iteration();
    runner->forward_batch(items, *fabric, [&](std::size_t item, const strategy::Output& output) {
      for (Index row = 0; row < output.values.rows(); ++row)
        std::ranges::copy(
            output.values.row(row),
            std::back_inserter(together[static_cast<std::size_t>(transport.rank()) * 2 + item]));
    });
    fabric->end_iteration();
  });

  for (std::size_t item = 0; item < 2; ++item) {
    const PassResult alone = run_pass(model_, "trace-b", 2, options, item == 0 ? first : second);
    std::vector<float> values = together[item];
    values.insert(values.end(), together[2 + item].begin(), together[2 + item].end());
    EXPECT_TRUE(std::ranges::equal(values, alone.values.view().elements())) << "sequence " << item;
  }
}

/// What arrives is checked before anything is made of it.
TEST_P(Coded, DamagedFramesNameTheirSender) {
  const CodebookSet set = codebooks("trace-b", 2);
  const StrategyOptions options{.codebooks = &set, .index_coding = IndexCoding::cross_layer};
  const model::ModelInput sequence = input(7);
  const Index tokens = sequence.tokens(model_.config());
  const std::vector<strategy::Layout> layouts = {
      {.slices = {{0, tokens / 2}, {tokens / 2, tokens - tokens / 2}}, .device = 0}};
  strategy::TraceExchange exchange(model_, {.device = 0, .devices = 2, .lengths = {tokens}},
                                   options, layouts);
  ops::KvContext context(tokens, model_.config().hidden, std::pmr::new_delete_resource());
  Operations counted;

  for (const std::vector<std::uint8_t>& frame :
       {std::vector<std::uint8_t>{}, {0xff}, {0x26, 1}, {0x05, 1, 2}, {0x45, 9, 9, 9, 9, 9}}) {
    exchange.begin(layouts.front(), sequence, nullptr);
    const std::int64_t sizes[] = {0, std::ssize(frame)};
    const std::string message = message_of_error([&] {
      exchange.decode(0, {std::as_bytes(std::span(frame)), sizes}, context, counted);
    });
    EXPECT_TRUE(test::mentions(message, {"device 1"})) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Coded,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

}  // namespace
}  // namespace thinwire
