#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "compress/codebook_fixtures.hpp"
#include "ops/matrices.hpp"
#include "support/messages.hpp"
#include "support/raw_safetensors.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/compress/codebook_writer.hpp"

namespace thinwire::compress {
namespace {

using test::astra;
using test::golden_config;
using test::golden_path;
using test::input_error;
using test::mentions;
using test::RawTensors;

constexpr Index kCodewords = 16;

std::vector<std::int32_t> permutation_of(const std::string& model, const std::string& name) {
  return test::open_golden(model).integers(name);
}

/// Row i of `ours` is row permutation[i] of `stored`.
void expect_permuted(const Matrix<float>& ours, const Matrix<float>& stored,
                     const std::vector<std::int32_t>& permutation) {
  ASSERT_EQ(ours.rows(), stored.rows());
  for (Index i = 0; i < ours.rows(); ++i)
    EXPECT_TRUE(std::ranges::equal(ours.view().row(i),
                                   stored.view().row(permutation[static_cast<std::size_t>(i)])))
        << i;
}

TEST(CodebookFile, GoldenFilesOpenForEveryUse) {
  for (const char* name : test::kGoldenModels)
    for (const CodebookUse& use :
         {test::kTraceB, test::kTrace2a, test::kTraceNb, test::kTrace1b, astra(1), astra(3)}) {
      SCOPED_TRACE(testing::Message() << name << " groups " << use.groups);
      const model::ModelConfig config = golden_config(name);

      const auto source = open_codebooks(golden_path(name), config, use, "0123456789abcdef");

      EXPECT_EQ(source->codewords(), kCodewords);
      EXPECT_EQ(source->levels(), use.published == Published::block_output
                                      ? std::vector<Index>{16}
                                      : (std::vector<Index>{2, 4, 8, 16}));
      for (Index exchange = use.codes(0) ? 0 : 1; exchange < config.layers; ++exchange)
        for (Index group = 0; group < use.groups; ++group)
          EXPECT_EQ(source->values(exchange, group).cols(), config.hidden / use.groups);
    }
}

TEST(CodebookFile, RowsStandInTheOrderOfTheHierarchy) {
  const SafetensorsFile golden = test::open_golden("vit-tiny");
  const auto permutation = permutation_of("vit-tiny", "hierarchy.1");
  ASSERT_FALSE(std::ranges::is_sorted(permutation));
  const auto source =
      open_codebooks(golden_path("vit-tiny"), golden_config("vit-tiny"), test::kTraceB, "");

  expect_permuted(source->values(1, 0), test::golden_matrix(golden, "codebook.1"), permutation);
  const Matrix<std::uint16_t> kv = source->kv(1);
  Matrix<float> key(kCodewords, 48), value(kCodewords, 48);
  for (Index i = 0; i < kCodewords; ++i)
    for (Index c = 0; c < 48; ++c) {
      key(i, c) = half_to_float(kv(i, c));
      value(i, c) = half_to_float(kv(i, 48 + c));
    }
  expect_permuted(key, test::golden_matrix(golden, "buffer.k.1"), permutation);
  expect_permuted(value, test::golden_matrix(golden, "buffer.v.1"), permutation);
}

TEST(CodebookFile, EachUseReadsItsOwnTensors) {
  const SafetensorsFile golden = test::open_golden("gpt2-tiny");
  const auto source_of = [](const CodebookUse& use) {
    return open_codebooks(golden_path("gpt2-tiny"), golden_config("gpt2-tiny"), use, "");
  };

  expect_permuted(source_of(test::kTraceNb)->values(2, 0),
                  test::golden_matrix(golden, "nb.codebook.2"),
                  permutation_of("gpt2-tiny", "nb.hierarchy.2"));
  expect_permuted(source_of(test::kTrace1b)->values(0, 0),
                  test::golden_matrix(golden, "codebook.0"),
                  permutation_of("gpt2-tiny", "hierarchy.0"));
  std::vector<std::int32_t> in_order(kCodewords);
  std::iota(in_order.begin(), in_order.end(), 0);
  expect_permuted(source_of(astra(3))->values(2, 1),
                  test::golden_matrix(golden, "astra.g3.codebook.2.1"), in_order);
}

TEST(CodebookFile, BuffersAreOfferedWhereTheyServe) {
  const auto source_of = [](const CodebookUse& use) {
    return open_codebooks(golden_path("vit-tiny"), golden_config("vit-tiny"), use, "");
  };
  CodebookUse hidden = test::kTraceB;
  hidden.buffers = Buffers::hidden;

  EXPECT_EQ(source_of(test::kTraceB)->kv(0).cols(), 96);
  EXPECT_EQ(source_of(hidden)->kv(0).rows(), 0);
  EXPECT_EQ(source_of(test::kTraceNb)->kv(1).rows(), 0);
}

// What a writer wrote

constexpr std::array<std::int32_t, 5> kPermutation = {3, 1, 0, 4, 2};

Matrix<std::uint16_t> some_kv() {
  Matrix<std::uint16_t> kv(5, 96);
  for (Index k = 0; k < 5; ++k)
    for (Index c = 0; c < 96; ++c) kv(k, c) = static_cast<std::uint16_t>(100 * k + c);
  return kv;
}

CodebookWriter write_trace(const model::ModelConfig& config) {
  CodebookWriter writer;
  writer.add_levels(std::array<Index, 2>{2, 5});
  for (Index exchange = 0; exchange < config.layers; ++exchange) {
    const Matrix<float> codewords = test::random_matrix(5, 48, "c" + std::to_string(exchange));
    writer.add_codewords(test::kTraceB, exchange, 0, codewords.view());
    writer.add_hierarchy(test::kTraceB, exchange, kPermutation);
  }
  writer.add_kv(1, some_kv().view());
  return writer;
}

TEST(CodebookWriter, WritesWhatIsReadBack) {
  const test::TemporaryFolder folder;
  const model::ModelConfig config = golden_config("vit-tiny");
  CodebookWriter writer = write_trace(config);
  writer.add_codewords(astra(1), 0, 0, test::random_matrix(7, 48, "ignored").view());
  writer.add_metadata("made_by", "a test");
  writer.write(folder / "codebooks");

  const auto source = open_codebooks(folder / "codebooks", config, test::kTraceB, "");

  EXPECT_EQ(source->codewords(), 5);
  EXPECT_EQ(source->levels(), (std::vector<Index>{2, 5}));
  for (Index exchange = 0; exchange < config.layers; ++exchange)
    expect_permuted(source->values(exchange, 0),
                    test::random_matrix(5, 48, "c" + std::to_string(exchange)),
                    {kPermutation.begin(), kPermutation.end()});
  EXPECT_EQ(source->kv(0).rows(), 0);
  const Matrix<std::uint16_t> kv = source->kv(1);
  EXPECT_EQ(kv(0, 0), 300);   // position 0 is code 3
  EXPECT_EQ(kv(4, 95), 295);  // position 4 is code 2
  EXPECT_EQ(SafetensorsFile(folder / "codebooks").metadata().at("made_by"), "a test");
}

TEST(CodebookWriter, NamesGroupsAndAttentionOutputsApart) {
  const test::TemporaryFolder folder;
  const model::ModelConfig config = golden_config("vit-tiny");
  CodebookWriter writer = write_trace(config);
  for (Index exchange = 0; exchange < config.layers; ++exchange)
    for (Index group = 0; group < 3; ++group)
      writer.add_codewords(astra(3), exchange, group, test::random_matrix(9, 16, "astra").view());
  for (Index exchange = 1; exchange < config.layers; ++exchange) {
    writer.add_codewords(test::kTraceNb, exchange, 0, test::random_matrix(5, 48, "nb").view());
    writer.add_hierarchy(test::kTraceNb, exchange, kPermutation);
  }
  writer.write(folder / "codebooks");

  EXPECT_EQ(open_codebooks(folder / "codebooks", config, astra(3), "")->codewords(), 9);
  EXPECT_EQ(open_codebooks(folder / "codebooks", config, test::kTraceNb, "")->codewords(), 5);
  EXPECT_EQ(open_codebooks(folder / "codebooks", config, test::kTrace1b, "")->codewords(), 5);
}

TEST(CodebookWriter, RefusesToAddTwiceAndHierarchiesOfAstra) {
  CodebookWriter writer = write_trace(golden_config("vit-tiny"));

  EXPECT_THROW(writer.add_hierarchy(test::kTraceB, 0, kPermutation), Error);
  EXPECT_THROW(writer.add_hierarchy(astra(1), 0, kPermutation), Error);
}

TEST(CodebookFile, WithoutLevelsHasOneInTheOrderOfTheCodes) {
  const test::TemporaryFolder folder;
  const model::ModelConfig config = golden_config("vit-tiny");
  CodebookWriter writer;
  const Matrix<float> codewords = test::random_matrix(6, 48, "c");
  for (Index exchange = 0; exchange < config.layers; ++exchange)
    writer.add_codewords(test::kTraceB, exchange, 0, codewords.view());
  writer.write(folder / "codebooks");

  const auto source = open_codebooks(folder / "codebooks", config, test::kTraceB, "");

  EXPECT_EQ(source->levels(), std::vector<Index>{6});
  expect_permuted(source->values(2, 0), codewords, {0, 1, 2, 3, 4, 5});
}

TEST(CodebookFile, MadeForAnotherModelIsRefused) {
  const test::TemporaryFolder folder;
  const model::ModelConfig config = golden_config("vit-tiny");
  CodebookWriter writer = write_trace(config);
  writer.set_model_fingerprint("00000000000000aa");
  const std::filesystem::path file = folder / "codebooks";
  writer.write(file);
  const auto open_for = [&](const std::string& fingerprint) {
    return open_codebooks(file, config, test::kTraceB, fingerprint);
  };

  EXPECT_NO_THROW(open_for("00000000000000aa"));
  EXPECT_NO_THROW(open_for(""));
  EXPECT_EQ(input_error([&] { open_for("00000000000000bb"); }),
            "--codebook=" + file.string() +
                ": made for the model with fingerprint 00000000000000aa, this one has "
                "00000000000000bb (train one for it)");
}

TEST(CodebookFile, FingerprintFollowsTheContents) {
  const test::TemporaryFolder folder;
  const model::ModelConfig config = golden_config("vit-tiny");
  const auto fingerprint_of = [&](const RawTensors& tensors) {
    test::write_raw(folder / "codebooks", tensors);
    return open_codebooks(folder / "codebooks", config, test::kTraceB, "")->fingerprint();
  };
  RawTensors tensors = test::read_raw(golden_path("vit-tiny"));
  const std::string before = fingerprint_of(tensors);

  EXPECT_EQ(fingerprint_of(tensors), before);
  tensors["codebook.2"].bytes[1] ^= std::byte{1};
  EXPECT_NE(fingerprint_of(tensors), before);
  EXPECT_EQ(before.size(), 16U);
}

// What is wrong is named

class BadCodebookFile : public testing::Test {
 protected:
  std::string error_after(const std::function<void(RawTensors&)>& spoil,
                          const CodebookUse& use = test::kTraceB) {
    RawTensors tensors = test::read_raw(golden_path("vit-tiny"));
    spoil(tensors);
    test::write_raw(folder_ / "codebooks", tensors);
    return input_error([&] {
      const auto source = open_codebooks(folder_ / "codebooks", golden_config("vit-tiny"), use, "");
      source->values(1, 0);
    });
  }
  std::string error_with(const std::string& name, const test::RawTensor& tensor,
                         const CodebookUse& use = test::kTraceB) {
    return error_after([&](RawTensors& tensors) { tensors[name] = tensor; }, use);
  }

 private:
  test::TemporaryFolder folder_;
};

test::RawTensor floats(std::vector<Index> shape) {
  Index elements = 1;
  for (const Index extent : shape) elements *= extent;
  return test::raw_tensor("F32", std::move(shape),
                          std::vector<float>(static_cast<std::size_t>(elements), 0.5F));
}

test::RawTensor integers(const std::vector<std::int32_t>& values) {
  return test::raw_tensor("I32", {std::ssize(values)}, values);
}

TEST_F(BadCodebookFile, MissingTensor) {
  const auto without = [&](const char* name, const CodebookUse& use) {
    return error_after([&](RawTensors& tensors) { tensors.erase(name); }, use);
  };
  for (const char* name : {"codebook.0", "codebook.2", "hierarchy.1", "buffer.v.1"})
    EXPECT_TRUE(mentions(without(name, test::kTraceB), {"--codebook=", name, "missing"}));
  for (const char* name : {"nb.codebook.1", "nb.hierarchy.2"})
    EXPECT_TRUE(mentions(without(name, test::kTraceNb), {"--codebook=", name, "missing"}));
  EXPECT_TRUE(mentions(without("codebook.0", test::kTrace1b), {"codebook.0", "missing"}));
  EXPECT_TRUE(mentions(without("astra.g3.codebook.2.1", astra(3)),
                       {"--codebook=", "astra.g3.codebook.2.1", "missing"}));
}

TEST_F(BadCodebookFile, GroupsThatItDoesNotHave) {
  EXPECT_TRUE(mentions(error_after([](RawTensors&) {}, astra(16)),
                       {"--codebook=", "groups=16", "for groups: 1, 3"}));
  EXPECT_TRUE(mentions(error_after([](RawTensors&) {}, astra(5)), {"--groups=5", "48"}));
}

TEST_F(BadCodebookFile, MisshapenTensor) {
  EXPECT_TRUE(mentions(error_with("codebook.0", floats({16, 47})),
                       {"codebook.0", "[16, 47]", "vit-tiny needs [codewords, 48]"}));
  EXPECT_TRUE(mentions(error_with("codebook.0", floats({48})), {"codebook.0", "[48]"}));
  EXPECT_TRUE(mentions(error_with("codebook.0", floats({1, 48})), {"codebook.0", "2 to 65536"}));
  EXPECT_TRUE(
      mentions(error_with("codebook.2", floats({15, 48})), {"codebook.2", "[15, 48]", "[16, 48]"}));
  EXPECT_TRUE(mentions(error_with("buffer.k.1", floats({16, 40})), {"buffer.k.1", "[16, 40]"}));
  EXPECT_TRUE(mentions(error_with("buffer.k.1", floats({16, 48})), {"buffer.k.1", "F32", "F16"}));
  EXPECT_TRUE(mentions(error_with("astra.g3.codebook.1.2", floats({16, 48}), astra(3)),
                       {"astra.g3.codebook.1.2", "[16, 48]", "[16, 16]"}));
  EXPECT_TRUE(mentions(
      error_with("codebook.1", test::raw_tensor("I32", {16, 48}, std::vector<float>(16 * 48))),
      {"codebook.1", "I32", "F32"}));
}

TEST_F(BadCodebookFile, HierarchyThatIsNoPermutation) {
  std::vector<std::int32_t> codes(kCodewords);
  std::iota(codes.begin(), codes.end(), 0);
  codes[3] = 7;
  EXPECT_TRUE(mentions(error_with("hierarchy.1", integers(codes)), {"hierarchy.1", "7 twice"}));
  codes[3] = 16;
  EXPECT_TRUE(mentions(error_with("hierarchy.1", integers(codes)), {"hierarchy.1", "code 16"}));
  codes[3] = -1;
  EXPECT_TRUE(mentions(error_with("hierarchy.1", integers(codes)), {"hierarchy.1", "code -1"}));
  codes.pop_back();
  EXPECT_TRUE(mentions(error_with("hierarchy.1", integers(codes)), {"hierarchy.1", "[15]"}));
}

TEST_F(BadCodebookFile, LevelsThatDoNotFit) {
  for (const std::vector<std::int32_t>& sizes :
       {std::vector<std::int32_t>{}, {2, 4, 8}, {2, 8, 4, 16}, {2, 2, 16}, {1, 16}, {2, 16, 32}})
    EXPECT_TRUE(mentions(error_with("hierarchy.levels", integers(sizes)),
                         {"--codebook=", "hierarchy.levels", "16 codewords"}));
}

TEST_F(BadCodebookFile, ValuesThatAreNotFinite) {
  EXPECT_TRUE(mentions(error_after([](RawTensors& tensors) {
                         const float nan = std::numeric_limits<float>::quiet_NaN();
                         std::memcpy(tensors["codebook.1"].bytes.data() + 40, &nan, sizeof nan);
                       }),
                       {"codebook.1", "not finite"}));
}

TEST(CodebookFile, ThatDoesNotExistIsNamed) {
  EXPECT_TRUE(mentions(input_error([] {
                         open_codebooks("/nonexistent", golden_config("vit-tiny"), test::kTraceB,
                                        "");
                       }),
                       {"/nonexistent"}));
}

}  // namespace
}  // namespace thinwire::compress
