// Rows that are sent in fewer bits: what is on the wire, and what that does to the answer.
#include <gtest/gtest.h>

#include <cstring>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "thinwire/compress/row_codec.hpp"

namespace thinwire {
namespace {

using compress::RowFormat;
using compress::Scaling;
using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr RowFormat kReduced[] = {RowFormat::fp16, RowFormat::bf16, RowFormat::int8};
constexpr double kExact = 1e-4;  // fp32 in another order of sums

/// What rounding moves a value by, as a part of the row's largest: half a unit in the last place.
double unit_of(RowFormat format) {
  return format == RowFormat::fp16 ? 0x1p-11 : format == RowFormat::bf16 ? 0x1p-8 : 1.0 / 254;
}

/// Coding once more may move a value that lies near the border between two codes by a whole unit.
double border(RowFormat format) {
  return kExact + 2 * unit_of(format);
}

struct Case {
  const char* model;
  Index tokens;  // text models: a length that 2, 3 and 4 divide; others have their own
};
constexpr Case kCases[] = {
    {"vit-tiny", 17}, {"bert-tiny", 24}, {"gpt2-tiny", 24}, {"vivit-tiny", 9}};

class Payloads : public testing::TestWithParam<Case> {
 protected:
  double difference(const PassResult& a, const PassResult& b) const {
    return test::relative_difference(a.hidden.back().view(), b.hidden.back().view());
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam().model);
  model::ModelInput input_ = model::random_input(model_.config(), GetParam().tokens, 7);
};

/// The bytes of fp32 rows, coded.
std::vector<std::byte> coded(const std::vector<std::byte>& fp32, Index hidden, RowFormat format) {
  std::vector<float> values(fp32.size() / sizeof(float));
  std::memcpy(values.data(), fp32.data(), fp32.size());
  const Index rows = std::ssize(values) / hidden;
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows * row_bytes(format, hidden)));
  compress::encode_rows({values.data(), rows, hidden}, format, bytes);
  return bytes;
}

TEST_P(Payloads, AreTheRowsOrMeansInTheirFormat) {
  for (const char* strategy : {"voltage", "prism"}) {
    const PassResult fp32 = run_pass(model_, strategy, 3, {.segments = 2}, input_);
    for (const RowFormat format : kReduced) {
      SCOPED_TRACE(testing::Message() << strategy << " " << to_string(format));

      const PassResult ours =
          run_pass(model_, strategy, 3, {.segments = 2, .payload = format}, input_);

      for (std::size_t device = 0; device < 3; ++device) {
        EXPECT_EQ(ours.payloads[0][device],  // of the embeddings, which are no different
                  coded(fp32.payloads[0][device], model_.config().hidden, format));
        EXPECT_LT(ours.payloads[1][device].size(), fp32.payloads[1][device].size());
      }
    }
  }
}

TEST_P(Payloads, ChangeTheAnswerByRoundingAlone) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);
  // A block adds its peers' rounding to what came before; rows' largest values are a few times
  // their typical one, by which attention and norms weigh them.
  const double gain = 4.0 * static_cast<double>(model_.config().layers);
  for (const RowFormat format : kReduced)
    for (const int devices : {2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << to_string(format) << " P=" << devices);

      const double off =
          difference(run_pass(model_, "voltage", devices, {.payload = format}, input_), single);

      EXPECT_LE(off, gain * unit_of(format));
      EXPECT_GT(off, unit_of(format) / 64);  // more than fp32 would be off
    }
}

TEST_P(Payloads, OfASegmentATokenAreVoltages) {
  for (const RowFormat format : kReduced)
    for (const int devices : {2, 3, 4}) {
      if (GetParam().tokens % devices != 0) continue;
      SCOPED_TRACE(testing::Message() << to_string(format) << " P=" << devices);
      const Index segments = GetParam().tokens / devices;

      EXPECT_LE(difference(run_pass(model_, "prism", devices,
                                    {.segments = segments, .payload = format}, input_),
                           run_pass(model_, "voltage", devices, {.payload = format}, input_)),
                border(format));
    }
}

TEST_P(Payloads, ServeDuplicatesToo) {
  for (const RowFormat format : kReduced)
    for (const int devices : {2, 3}) {
      SCOPED_TRACE(testing::Message() << to_string(format) << " P=" << devices);
      StrategyOptions options{.segments = 2, .payload = format};
      const PassResult scaled = run_pass(model_, "prism", devices, options, input_);
      options.scaling = Scaling::duplicate;

      EXPECT_LE(difference(run_pass(model_, "prism", devices, options, input_), scaled),
                border(format));
    }
}

TEST_P(Payloads, OfOneDeviceAreNone) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  for (const char* strategy : {"voltage", "prism"})
    EXPECT_EQ(difference(run_pass(model_, strategy, 1, {.segments = 1, .payload = RowFormat::int8},
                                  input_),
                         single),
              0);
}

INSTANTIATE_TEST_SUITE_P(Models, Payloads, testing::ValuesIn(kCases));

}  // namespace
}  // namespace thinwire
