// Levels that a controller chooses for frames of coded indices, and for frames of which packets are
// lost: every receiver makes of a frame what its sender put in, whatever the levels of the others
// and of the exchanges before.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "support/index_tables.hpp"
#include "thinwire/compress/coded_frame.hpp"
#include "thinwire/strategy/exchange_levels.hpp"
#include "thinwire/strategy/index_exchange.hpp"
#include "thinwire/strategy/trace_format.hpp"

namespace thinwire {
namespace {

using compress::CodebookSet;
using compress::IndexCoding;
using compress::KnownIndices;
using fabric::OnLoss;
using strategy::LevelControl;
using strategy::StrategyOptions;
using test::PassResult;

constexpr Index kCodewords = 64;
constexpr IndexCoding kCodings[] = {IndexCoding::entropy, IndexCoding::cross_layer};
constexpr LevelControl kControls[] = {LevelControl::adaptive, LevelControl::probing};

/// An exchange that shows what it has decoded.
class Receiver final : public strategy::IndexExchange {
 public:
  Receiver(const model::Model& model, const strategy::DeviceRole& role,
           const StrategyOptions& options, std::span<const strategy::Layout> layouts)
      : IndexExchange(model, role, options, strategy::chosen_level(options, *options.codebooks),
                      strategy::trace_format(*options.codebooks,
                                             strategy::chosen_level(options, *options.codebooks)),
                      layouts) {}
  std::span<const std::int32_t> decoded() const { return remote_indices(); }

 private:
  void decode_remote(Index, ops::KvContext&, Operations&) override {}
};

/// One sender's frames, exchange after exchange, each on any level.
class Sender {
 public:
  Sender(const CodebookSet& codebooks, IndexCoding coding, std::size_t tokens)
      : codebooks_(codebooks), coding_(coding), tokens_(tokens) {}

  /// A frame of made-up indices, some of which are likely after those before.
  std::vector<std::byte> next(Index exchange, std::mt19937& random) {
    const int level = static_cast<int>(random() % codebooks_.levels().size());
    const auto codewords = static_cast<std::int32_t>(codebooks_.levels()[level]);
    std::vector<std::int32_t> indices(tokens_);
    for (std::size_t i = 0; i < tokens_; ++i)
      indices[i] = random() % 2 == 0 || sent_.empty()
                       ? static_cast<std::int32_t>(random() % static_cast<unsigned>(codewords))
                       : sent_.back()[i] % codewords;
    const IndexCoding coding = compress::coding_of(coding_, codebooks_.use(), exchange, false);
    const compress::FrameFormat format = strategy::trace_format(codebooks_, level);
    levels_.push_back(level);
    KnownIndices known;
    if (coding == IndexCoding::cross_layer && levels_[levels_.size() - 2] == level) {
      known.previous = sent_.back();
      if (sent_.size() > 1 && levels_[levels_.size() - 3] == level)
        known.earlier = sent_[sent_.size() - 2];
    }
    std::vector<std::byte> frame(
        static_cast<std::size_t>(compress::worst_frame_bytes(std::ssize(indices), format, coding)));
    frame.resize(static_cast<std::size_t>(compress::encode_frame(
        indices, known, codebooks_.index_tables(exchange, level), format, coding, frame)));
    sent_.push_back(std::move(indices));
    return frame;
  }
  const std::vector<std::int32_t>& sent() const { return sent_.back(); }

 private:
  const CodebookSet& codebooks_;
  IndexCoding coding_;
  std::size_t tokens_;
  std::vector<std::vector<std::int32_t>> sent_;
  std::vector<int> levels_;
};

class CodedLevels : public testing::TestWithParam<const char*> {
 protected:
  CodebookSet codebooks(const char* strategy, int devices) const {
    return test::make_tabled_levels(model_, strategy, devices, test::codebook_use(strategy),
                                    kCodewords, input_);
  }
  /// Of a pass after others on a link of `rate`, whose devices are very unequal.
  PassResult run(const char* strategy, const CodebookSet& set, std::string_view rate, int devices,
                 StrategyOptions options, const fabric::Loss& loss = {}) const {
    fabric::FabricOptions fabric{.clock = fabric::Clock::modelled,
                                 .links = {{.rates = {Rate::parse(rate)},
                                            .overhead = {.header_bytes = 1, .payload_bytes = 6},
                                            .loss = loss}}};
    for (int p = 0; p < devices; ++p) {
      fabric.slowness.push_back(1 + 20 * p);
      fabric.device_flops_per_s.push_back(1e8);
    }
    options.codebooks = &set;
    options.on_loss = loss.policy;
    return test::run_pass(model_, strategy, devices, options, input_, 0, fabric, /*warmup=*/8);
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);
};

/// Bits that a frame's header tells; those above say how it is coded.
int header_bits(std::span<const std::byte> frame) {
  return compress::read_frame_header(frame, 0).bits;
}

TEST_P(CodedLevels, AnyMixtureIsDecodedAsItWasSent) {
  constexpr int kRounds = 40;
  const CodebookSet set = codebooks("trace-b", 3);
  const Index tokens = input_.tokens(model_.config());
  const std::vector<Slice> slices = partition(tokens, 3, PartitionPolicy::paper, {});
  const std::vector<strategy::Layout> layouts = {{.slices = slices, .device = 1}};
  ops::KvContext context(tokens, model_.config().hidden, std::pmr::new_delete_resource());
  Operations counted;
  std::mt19937 random(11);
  for (const IndexCoding coding : kCodings) {
    Receiver receiver(
        model_, {.device = 1, .devices = 3, .lengths = {tokens}},
        {.codebooks = &set, .level_control = LevelControl::adaptive, .index_coding = coding},
        layouts);
    for (int round = 0; round < kRounds; ++round) {
      receiver.begin(layouts.front(), input_, nullptr);
      Sender first(set, coding, static_cast<std::size_t>(slices[0].size));
      Sender last(set, coding, static_cast<std::size_t>(slices[2].size));
      for (Index exchange = 0; exchange < model_.config().layers; ++exchange) {
        std::vector<std::byte> all = first.next(exchange, random);
        const std::vector<std::byte> more = last.next(exchange, random);
        const std::int64_t sizes[] = {std::ssize(all), 0, std::ssize(more)};
        all.insert(all.end(), more.begin(), more.end());

        receiver.decode(exchange, {all, sizes}, context, counted);

        std::vector<std::int32_t> sent = first.sent();
        sent.insert(sent.end(), last.sent().begin(), last.sent().end());
        ASSERT_TRUE(std::ranges::equal(receiver.decoded(), sent))
            << "round " << round << ", exchange " << exchange;
      }
    }
  }
}

TEST_P(CodedLevels, AFastLinkAnswersAsTheFinestLevelDoes) {
  for (const char* strategy : {"trace-b", "trace-nb", "trace-2a", "trace-1b"}) {
    SCOPED_TRACE(strategy);
    const CodebookSet set = codebooks(strategy, 3);
    const PassResult fixed = run(strategy, set, "unlimited", 3, {});
    for (const IndexCoding coding : kCodings)
      for (const LevelControl control : kControls) {
        const PassResult chosen =
            run(strategy, set, "unlimited", 3, {.level_control = control, .index_coding = coding});
        EXPECT_TRUE(
            std::ranges::equal(chosen.values.view().elements(), fixed.values.view().elements()));
      }
  }
}

/// What every device sends can be read by whoever knows what it sent before.
TEST_P(CodedLevels, DevicesThatChooseDifferentlyUnderstandEachOther) {
  for (const char* strategy : {"trace-b", "trace-1b"})
    for (const int devices : {2, 4}) {
      const CodebookSet set = codebooks(strategy, devices);
      const Index first = set.use().codes_first_exchange ? 0 : 1;
      bool differ = false;
      for (const IndexCoding coding : kCodings) {
        SCOPED_TRACE(testing::Message() << strategy << " on " << devices);
        const PassResult chosen =
            run(strategy, set, "10kbps", devices,
                {.level_control = LevelControl::adaptive, .index_coding = coding});
        for (Index e = first; e < model_.config().layers; ++e) {
          const auto& frames = chosen.payloads[static_cast<std::size_t>(e)];
          for (const auto& frame : frames)
            differ |= header_bits(frame) != header_bits(frames.front());
          for (std::size_t p = 0; p < frames.size(); ++p) {
            const auto sent = [&](Index exchange) {
              return std::span<const std::int32_t>(
                  chosen.quantised[static_cast<std::size_t>(exchange)][p].indices);
            };
            const auto level =
                std::ranges::find(set.levels(), header_bits(frames[p]), compress::index_bits) -
                set.levels().begin();
            const IndexCoding used = compress::coding_of(coding, set.use(), e, false);
            const auto is_same_level = [&](Index exchange) {
              return header_bits(chosen.payloads[static_cast<std::size_t>(exchange)][p]) ==
                     header_bits(frames[p]);
            };
            KnownIndices known;
            if (used == IndexCoding::cross_layer && is_same_level(e - 1)) {
              known.previous = sent(e - 1);
              if (e > first + 1 && is_same_level(e - 2)) known.earlier = sent(e - 2);
            }
            std::vector<std::int32_t> read(sent(e).size());
            compress::decode_frame(frames[p], known, set.index_tables(e, static_cast<int>(level)),
                                   strategy::trace_format(set, static_cast<int>(level)), used,
                                   static_cast<int>(p), read);
            EXPECT_TRUE(std::ranges::equal(read, sent(e)));
          }
        }
      }
      EXPECT_TRUE(differ) << "windows of 1 to " << 1 + 20 * (devices - 1);
    }
}

/// Fewer bytes an index at the same level: never a coarser level in the mean, mostly a finer one.
TEST_P(CodedLevels, TakeTheRoomThatCodingLeaves) {
  const CodebookSet set = codebooks("trace-b", 2);
  const auto bits_at = [&](std::string_view rate, IndexCoding coding) {
    int sum = 0;
    const PassResult pass = run("trace-b", set, rate, 2,
                                {.level_control = LevelControl::adaptive, .index_coding = coding});
    for (const auto& frames : pass.payloads)
      for (const auto& frame : frames) sum += header_bits(frame);
    return sum;
  };
  int fixed = 0, coded = 0;
  for (const char* rate :
       {"2kbps", "5kbps", "10kbps", "20kbps", "30kbps", "50kbps", "80kbps", "120kbps"}) {
    fixed += bits_at(rate, IndexCoding::fixed);
    coded += bits_at(rate, IndexCoding::cross_layer);
  }
  EXPECT_GT(coded, fixed);
}

/// Rows whose indices were in lost packets, by each frame's own header.
std::int64_t lost_rows(const PassResult& pass, const fabric::Loss& loss, Index packet_bytes) {
  std::int64_t lost = 0;
  for (std::size_t e = 0; e < pass.payloads.size(); ++e)
    for (std::size_t from = 0; from < pass.payloads[e].size(); ++from)
      for (std::size_t to = 0; to < pass.payloads[e].size(); ++to) {
        if (from == to) continue;
        const fabric::MessageLosses losses(loss, {0, e}, static_cast<int>(from),
                                           static_cast<int>(to));
        const Index bits = header_bits(pass.payloads[e][from]);
        for (Index row = 0; row < pass.quantised[e][from].rows.rows(); ++row) {
          bool is_lost = losses.is_lost(0);  // the header
          for (Index byte = (8 + row * bits) / 8; byte <= (8 + (row + 1) * bits - 1) / 8; ++byte)
            is_lost |= losses.is_lost(byte / packet_bytes);
          lost += is_lost ? 1 : 0;
        }
      }
  return lost;
}

TEST_P(CodedLevels, LosesTheTokensThatWereInLostPackets) {
  compress::CodebookUse use = test::codebook_use("trace-b");
  use.buffers = compress::Buffers::off;  // as reuse needs
  const CodebookSet set = test::make_random_codebooks(model_, use, kCodewords);
  PassResult of_policy[2];
  for (const OnLoss policy : {OnLoss::skip, OnLoss::reuse}) {
    SCOPED_TRACE(to_string(policy));
    const fabric::Loss loss{.probability = 0.2, .policy = policy, .seed = 3};
    const StrategyOptions options{.level_control = LevelControl::adaptive};
    PassResult& pass = of_policy[policy == OnLoss::skip ? 0 : 1];
    pass = run("trace-b", set, "20kbps", 3, options, loss);

    std::int64_t counted = 0;
    for (const fabric::DeviceIteration& device : pass.iterations)
      counted += device.losses.lost_rows;
    EXPECT_EQ(counted, lost_rows(pass, loss, 6));
    EXPECT_GT(counted, 0);
    for (const Matrix<float>& hidden : pass.hidden)
      EXPECT_TRUE(
          std::ranges::all_of(hidden.view().elements(), [](float v) { return std::isfinite(v); }));
    const PassResult again = run("trace-b", set, "20kbps", 3, options, loss);
    EXPECT_EQ(pass.payloads, again.payloads);
    EXPECT_TRUE(std::ranges::equal(pass.values.view().elements(), again.values.view().elements()));
  }
  EXPECT_FALSE(std::ranges::equal(of_policy[0].hidden.back().view().elements(),
                                  of_policy[1].hidden.back().view().elements()));
}

/// A frame that is coded is read as a whole or not at all.
TEST_P(CodedLevels, LosesWholeFramesWhereIndicesAreCoded) {
  for (const char* strategy : {"trace-b", "trace-1b"}) {  // which send no raw rows
    SCOPED_TRACE(strategy);
    const CodebookSet set = codebooks(strategy, 3);
    const StrategyOptions options{.level_control = LevelControl::adaptive,
                                  .index_coding = IndexCoding::entropy};
    const PassResult whole = run(strategy, set, "20kbps", 3, options);
    const PassResult nothing_lost =
        run(strategy, set, "20kbps", 3, options, {.probability = 1e-15, .policy = OnLoss::skip});
    EXPECT_EQ(whole.payloads, nothing_lost.payloads);
    EXPECT_TRUE(std::ranges::equal(whole.hidden.back().view().elements(),
                                   nothing_lost.hidden.back().view().elements()));

    const fabric::Loss loss{.probability = 0.2, .policy = OnLoss::skip, .seed = 3};
    const PassResult lossy = run(strategy, set, "20kbps", 3, options, loss);
    std::int64_t expected = 0, counted = 0;
    for (std::size_t e = 0; e < lossy.payloads.size(); ++e)
      for (std::size_t from = 0; from < 3; ++from)
        for (std::size_t to = 0; to < 3; ++to) {
          if (from == to) continue;
          const fabric::MessageLosses losses(loss, {0, e}, static_cast<int>(from),
                                             static_cast<int>(to));
          bool is_lost = false;
          for (std::size_t byte = 0; byte < lossy.payloads[e][from].size(); ++byte)
            is_lost |= losses.is_lost(static_cast<std::int64_t>(byte / 6));
          if (is_lost) expected += lossy.quantised[e][from].rows.rows();
        }
    for (const fabric::DeviceIteration& device : lossy.iterations)
      counted += device.losses.lost_rows;
    EXPECT_EQ(counted, expected);
    EXPECT_GT(expected, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CodedLevels,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

/// Random codebooks with a hierarchy of other levels.
class WithLevels final : public compress::CodebookSource {
 public:
  WithLevels(compress::CodebookSource& inner, std::vector<Index> levels)
      : inner_(inner), levels_(std::move(levels)) {}
  Index codewords() const override { return inner_.codewords(); }
  std::vector<Index> levels() const override { return levels_; }
  Matrix<float> values(Index exchange, Index group) override {
    return inner_.values(exchange, group);
  }
  std::string fingerprint() const override { return inner_.fingerprint(); }

 private:
  compress::CodebookSource& inner_;
  std::vector<Index> levels_;
};

/// A sender never uses the level that a receiver could not tell from a finer one.
TEST(EqualBits, AreOneLevelTheFinest) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "vit-tiny");
  const compress::CodebookUse use = test::codebook_use("trace-b");
  const auto random = compress::random_codebooks(model.config(), use, 16, 5);
  WithLevels source(*random, {5, 7, 8, 12, 16});
  const CodebookSet codebooks = test::make_codebooks(model, use, source);
  strategy::ExchangeLevels levels(LevelControl::adaptive, codebooks, 2, 2);
  const std::byte three_bits{3}, four_bits{4};

  test::on_devices(1, [&](fabric::Transport& transport) {
    const auto fabric = fabric::make_fabric(transport, {});
    levels.begin(0, 9, *fabric);
    EXPECT_EQ(levels.choose(*fabric, IndexCoding::fixed), 2) << "the coarsest, of 8";
  });
  EXPECT_EQ(levels.level_of(0, {&three_bits, 1}, 1), 2);
  EXPECT_EQ(levels.level_of(0, {&four_bits, 1}, 1), 4);
}

}  // namespace
}  // namespace thinwire
