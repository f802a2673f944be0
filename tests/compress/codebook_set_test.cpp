#include "thinwire/compress/codebook_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compress/codebook_fixtures.hpp"
#include "ops/matrices.hpp"
#include "support/same_places.hpp"
#include "thinwire/tensor/half.hpp"

namespace thinwire::compress {
namespace {

constexpr Index kLayers = 3, kHidden = 48, kCodewords = 16;

std::unique_ptr<CodebookSource> golden_codebooks(const std::string& model, const CodebookUse& use) {
  return open_codebooks(test::golden_path(model), test::golden_config(model), use, "");
}

/// The codebooks of a golden file without the buffers that it brings.
class WithoutBuffers final : public CodebookSource {
 public:
  WithoutBuffers(const std::string& model, const CodebookUse& use)
      : source_(golden_codebooks(model, use)) {}
  Index codewords() const override { return source_->codewords(); }
  std::vector<Index> levels() const override { return source_->levels(); }
  Matrix<float> values(Index exchange, Index group) override {
    return source_->values(exchange, group);
  }
  std::string fingerprint() const override { return source_->fingerprint(); }

 private:
  std::unique_ptr<CodebookSource> source_;
};

/// Knows shapes, and fails the test when a value is asked for.
class UnreadableSource final : public CodebookSource {
 public:
  Index codewords() const override { return kCodewords; }
  std::vector<Index> levels() const override { return {2, 4, 8, kCodewords}; }
  Matrix<float> values(Index exchange, Index) override {
    ADD_FAILURE() << "read the codebook of exchange " << exchange;
    return {kCodewords, kHidden};
  }
  Matrix<std::uint16_t> kv(Index exchange) override {
    ADD_FAILURE() << "read the buffer of exchange " << exchange;
    return {};
  }
  std::string fingerprint() const override { return {}; }
};

CodebookUse with_buffers(Buffers buffers) {
  CodebookUse use = test::kTraceB;
  use.buffers = buffers;
  return use;
}

/// golden/README: equal bit for bit, or one fp16 step, or 1e-5 apart.
bool are_near(std::uint16_t ours, std::uint16_t golden) {
  const bool is_next = std::abs(int{ours} - int{golden}) <= 1;  // neighbours of one sign
  return is_next || std::abs(half_to_float(ours) - half_to_float(golden)) <= 1e-5F;
}

void expect_golden_buffers(const std::string& name) {
  const model::Model model = test::golden_model(name);
  const auto golden = golden_codebooks(name, test::kTraceB);
  WithoutBuffers source(name, test::kTraceB);

  const CodebookSet set(model, test::kTraceB, source, {test::heap()});

  for (Index exchange = 0; exchange < kLayers; ++exchange) {
    const Matrix<std::uint16_t> expected = golden->kv(exchange);
    const MatrixView<const std::uint16_t> ours = set.buffer(exchange).halves();
    ASSERT_EQ(ours.size(), expected.view().size());
    Index equal = 0;
    for (Index k = 0; k < ours.rows(); ++k)
      for (Index c = 0; c < ours.cols(); ++c) {
        equal += ours(k, c) == expected(k, c) ? 1 : 0;
        EXPECT_TRUE(are_near(ours(k, c), expected(k, c)))
            << exchange << ": " << half_to_float(ours(k, c)) << " for "
            << half_to_float(expected(k, c));
      }
    EXPECT_GE(static_cast<double>(equal), 0.99 * static_cast<double>(ours.size())) << exchange;
  }
}

TEST(CodebookSet, CalibratesTheGoldenBuffersOfEveryFamily) {
  for (const char* name : test::kGoldenModels) {
    SCOPED_TRACE(name);
    expect_golden_buffers(name);
  }
}

TEST(CodebookSet, TakesTheBuffersThatTheSourceBrings) {
  const model::Model model = test::golden_model("vit-tiny");
  const auto source = golden_codebooks("vit-tiny", test::kTraceB);

  const CodebookSet set(model, test::kTraceB, *source, {test::heap()});

  for (Index exchange = 0; exchange < kLayers; ++exchange)
    EXPECT_TRUE(std::ranges::equal(set.buffer(exchange).halves().elements(),
                                   source->kv(exchange).view().elements()))
        << exchange;
  EXPECT_EQ(set.calibration_operations(), Operations{});
  EXPECT_EQ(set.calibration_s(), 0);
}

TEST(CodebookSet, HiddenBuffersHoldTheBlocksOutput) {
  const CodebookUse use = with_buffers(Buffers::hidden);
  const model::Model model = test::golden_model("bert-tiny");
  const auto source = golden_codebooks("bert-tiny", use);

  const CodebookSet set(model, use, *source, {test::heap()});

  Operations counted;
  for (Index exchange = 0; exchange < kLayers; ++exchange) {
    Matrix<float> expected = source->values(exchange, 0);
    finish_codewords(model, exchange, expected.view(), counted);
    Matrix<float> widened(kCodewords, kHidden);
    std::vector<std::int32_t> all(kCodewords);
    std::iota(all.begin(), all.end(), 0);
    set.buffer(exchange).gather(all, widened.view());
    EXPECT_LT(test::relative_difference(widened.view(), expected.view()), 0x1p-10) << exchange;
  }
  EXPECT_EQ(set.calibration_operations(), counted);
}

TEST(CodebookSet, CountsWhatCalibratingTakes) {
  const model::Model model = test::golden_model("vit-tiny");
  WithoutBuffers source("vit-tiny", test::kTraceB);

  const CodebookSet set(model, test::kTraceB, source, {test::heap()});

  const std::int64_t project = 2 * kHidden * kHidden, finish = 2 * kHidden * model.config().ffn;
  EXPECT_EQ(set.calibration_operations().matmul_macs,
            kCodewords * (kLayers * project + (kLayers - 1) * finish));
  EXPECT_GT(set.calibration_s(), 0);
}

TEST(CodebookSet, KeepsCodewordsOnlyWhereAReceiverNeedsThem) {
  const model::Model model = test::golden_model("vit-tiny");
  Matrix<float> row(1, kHidden);
  const std::array index = {5};
  for (const Buffers buffers : {Buffers::kv, Buffers::hidden}) {
    const auto source = golden_codebooks("vit-tiny", with_buffers(buffers));
    const CodebookSet set(model, with_buffers(buffers), *source, {test::heap()});
    EXPECT_THROW(set.codebook(1).lookup(index, row.view()), Error);
  }
  const auto source = golden_codebooks("vit-tiny", with_buffers(Buffers::off));
  const CodebookSet set(model, with_buffers(Buffers::off), *source, {test::heap()});

  set.codebook(1).lookup(index, row.view());

  EXPECT_TRUE(std::ranges::equal(row.view().row(0), source->values(1, 0).view().row(5)));
  EXPECT_THROW(set.buffer(1), Error);
}

TEST(CodebookSet, AnExchangeOfRawRowsHasNeitherCodebookNorBuffer) {
  const model::Model model = test::golden_model("vit-tiny");
  const auto source = golden_codebooks("vit-tiny", test::kTrace2a);

  const CodebookSet set(model, test::kTrace2a, *source, {test::heap()});

  EXPECT_THROW(set.codebook(0), Error);
  EXPECT_THROW(set.buffer(0), Error);
  EXPECT_THROW(set.codebook(kLayers), Error);
  EXPECT_EQ(set.codebook(1).codewords(), kCodewords);
  EXPECT_EQ(set.buffer(1).halves().cols(), 2 * kHidden);
}

TEST(CodebookSet, AstraHasACodebookAGroup) {
  const model::Model model = test::golden_model("vit-tiny");
  const auto source = golden_codebooks("vit-tiny", test::astra(3));

  const CodebookSet set(model, test::astra(3), *source, {test::heap()});

  Matrix<float> row(1, kHidden);
  set.codebook(2).lookup(std::array{4, 9, 14}, row.view());
  for (const auto& [group, code] : {std::pair{0, 4}, {1, 9}, {2, 14}})
    EXPECT_TRUE(std::ranges::equal(row.view().cols(group * 16, 16).row(0),
                                   source->values(2, group).view().row(code)))
        << group;
}

TEST(CodebookSet, AttachingReadsNoValueAndSharesTheBytes) {
  const model::Model model = test::golden_model("vit-tiny");
  for (const Buffers buffers : {Buffers::kv, Buffers::hidden, Buffers::off}) {
    SCOPED_TRACE(to_string(buffers));
    const CodebookUse use = with_buffers(buffers);
    const auto source = golden_codebooks("vit-tiny", use);
    test::SamePlaces memory(std::size_t{4} << 20);
    UnreadableSource unreadable;
    const Matrix<float> x = test::random_matrix(7, kHidden, "x");
    std::vector<float> scratch(100000);
    std::array<std::int32_t, 7> expected{}, indices{};
    Operations counted;

    const CodebookSet written(model, use, *source, {&memory, ops::Packing::write});
    memory.rewind();
    const CodebookSet attached(model, use, unreadable, {&memory, ops::Packing::attach});

    EXPECT_EQ(attached.calibration_operations(), Operations{});
    for (Index exchange = 0; exchange < kLayers; ++exchange) {
      written.codebook(exchange).nearest(x.view(), 3, scratch, expected, counted);
      attached.codebook(exchange).nearest(x.view(), 3, scratch, indices, counted);
      EXPECT_EQ(indices, expected);
      if (buffers != Buffers::off) {
        EXPECT_EQ(attached.buffer(exchange).halves().data(),
                  written.buffer(exchange).halves().data());
      }
    }
  }
}

struct Snapshot {
  std::vector<const std::uint16_t*> addresses;
  std::vector<std::vector<std::uint16_t>> contents;
  bool operator==(const Snapshot&) const = default;
};

Snapshot snapshot_of(const CodebookSet& set) {
  Snapshot snapshot;
  for (Index exchange = 0; exchange < kLayers; ++exchange) {
    const auto halves = set.buffer(exchange).halves().elements();
    snapshot.addresses.push_back(halves.data());
    snapshot.contents.emplace_back(halves.begin(), halves.end());
  }
  return snapshot;
}

TEST(CodebookSet, SwitchingTheLevelMovesAndChangesNoBuffer) {
  const model::Model model = test::golden_model("vit-tiny");
  const Matrix<float> x = test::random_matrix(17, kHidden, "x");
  for (const Buffers buffers : {Buffers::kv, Buffers::hidden}) {
    WithoutBuffers source("vit-tiny", with_buffers(buffers));
    const CodebookSet set(model, with_buffers(buffers), source, {test::heap()});
    const Snapshot before = snapshot_of(set);
    std::vector<float> scratch(100000);
    std::array<std::int32_t, 17> indices{};
    Operations counted;

    for (const int level : {3, 0, 2, 1, 3})
      for (Index exchange = 0; exchange < kLayers; ++exchange) {
        set.codebook(exchange).nearest(x.view(), level, scratch, indices, counted);
        EXPECT_LT(std::ranges::max(indices), set.levels()[static_cast<std::size_t>(level)]);
        EXPECT_TRUE(snapshot_of(set) == before) << "level " << level;
      }
  }
}

}  // namespace
}  // namespace thinwire::compress
