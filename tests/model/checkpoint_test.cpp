#include <gtest/gtest.h>

#include <cmath>

#include "support/golden.hpp"
#include "support/messages.hpp"
#include "support/raw_safetensors.hpp"
#include "support/single_pass.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/model/weight_source.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::model {
namespace {

namespace fs = std::filesystem;
using test::RawTensors;

fs::path golden_folder(const std::string& model) {
  return test::kGoldenFolder / "models" / model;
}

/// A golden model whose tensors or keys a test may change.
class ChangedModel {
 public:
  explicit ChangedModel(const std::string& model)
      : json(read_json(golden_folder(model) / "config.json")),
        tensors(test::read_raw(golden_folder(model) / "model.safetensors")) {}

  Checkpoint open(std::size_t shift = 0) const {
    std::ofstream(folder_ / "config.json") << json.dump();
    test::write_raw(folder_ / "model.safetensors", tensors, shift);
    return open_checkpoint(folder_.path());
  }
  Model load(std::size_t shift = 0) const {
    Checkpoint checkpoint = open(shift);
    return Model(checkpoint.config, *checkpoint.weights, {std::pmr::new_delete_resource()});
  }
  void rename(const std::string& from, const std::string& to) {
    auto node = tensors.extract(from);
    node.key() = to;
    tensors.insert(std::move(node));
  }

  Json json;
  RawTensors tensors;

 private:
  test::TemporaryFolder folder_;
};

Matrix<float> logits(const Model& model, const std::string& golden) {
  const SafetensorsFile file = test::open_golden(golden);
  return std::move(test::single_pass(model, test::golden_input(file, "input")).logits);
}

double distance(const ChangedModel& changed, const std::string& golden, std::size_t shift = 0) {
  const Matrix<float> before = logits(ChangedModel(golden).load(), golden);
  return test::relative_difference(logits(changed.load(shift), golden).view(), before.view());
}

TEST(Checkpoint, IsNamedAfterItsFolder) {
  EXPECT_EQ(open_checkpoint(golden_folder("vit-tiny")).config.name, "vit-tiny");
  EXPECT_EQ(open_checkpoint(golden_folder("vit-tiny") / "").config.name, "vit-tiny");
}

TEST(Checkpoint, AFolderThatIsNotOneIsNamed) {
  const test::TemporaryFolder empty;

  EXPECT_TRUE(test::mentions(test::input_error([] { open_checkpoint("no/such/model"); }),
                             {"no/such/model", "does not exist", "vit-base-16"}));
  EXPECT_TRUE(
      test::mentions(test::input_error([&] { open_checkpoint(empty.path()); }), {"config.json"}));
}

TEST(Checkpoint, LoadsWithAndWithoutThePrefix) {
  for (const auto& [golden, prefix] : {std::pair{"vit-tiny", "vit."},
                                       {"bert-tiny", "bert."},
                                       {"gpt2-tiny", "transformer."},
                                       {"vivit-tiny", "vivit."}}) {
    SCOPED_TRACE(golden);
    ChangedModel changed(golden);
    for (const auto& [name, tensor] : test::read_raw(golden_folder(golden) / "model.safetensors"))
      if (name.starts_with(prefix)) changed.rename(name, name.substr(std::string(prefix).size()));

    EXPECT_EQ(distance(changed, golden), 0);
    EXPECT_EQ(changed.open().weights->fingerprint(),
              ChangedModel(golden).open().weights->fingerprint());
  }
}

TEST(Checkpoint, ReadsTheOldNamesOfLayerNorm) {
  ChangedModel changed("bert-tiny");
  changed.rename("bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma");
  changed.rename("bert.embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.beta");

  EXPECT_EQ(distance(changed, "bert-tiny"), 0);
}

TEST(Checkpoint, ReadsTensorsThatAreNotAligned) {
  EXPECT_EQ(distance(ChangedModel("gpt2-tiny"), "gpt2-tiny", 1), 0);
}

TEST(Checkpoint, WidensHalfPrecision) {
  for (const auto& [type, tolerance] : {std::pair{"F16", 2e-2}, {"BF16", 1e-1}}) {
    SCOPED_TRACE(type);
    ChangedModel changed("bert-tiny");
    for (auto& [name, tensor] : changed.tensors) tensor = test::narrowed(tensor, type);

    const double difference = distance(changed, "bert-tiny");

    EXPECT_GT(difference, 0);
    EXPECT_LT(difference, tolerance);
  }
}

TEST(Checkpoint, NamesAMissingTensor) {
  ChangedModel changed("vit-tiny");
  changed.tensors.erase("vit.encoder.layer.1.output.dense.weight");

  EXPECT_TRUE(test::mentions(
      test::input_error([&] { changed.load(); }),
      {"model.safetensors", "encoder.layer.1.output.dense.weight", "[48, 96]", "missing"}));
}

TEST(Checkpoint, NamesAMisshapenTensorWithBothShapes) {
  ChangedModel changed("gpt2-tiny");
  changed.tensors.at("transformer.h.0.mlp.c_fc.weight").shape = {192, 48};

  EXPECT_TRUE(test::mentions(test::input_error([&] { changed.load(); }),
                             {"h.0.mlp.c_fc.weight", "[192, 48]", "[48, 192]"}));
}

TEST(Checkpoint, MakesNoRoomForATableThatTheFileDoesNotHave) {
  ChangedModel changed("gpt2-tiny");
  changed.json["vocab_size"] = 1 << 20;
  Checkpoint checkpoint = changed.open();
  TrackingResource memory;

  const std::string message =
      test::input_error([&] { Model(checkpoint.config, *checkpoint.weights, {&memory}); });

  EXPECT_TRUE(test::mentions(message, {"wte.weight", "[1048576, 48]"}));
  EXPECT_EQ(memory.allocations(), 0);
}

TEST(Checkpoint, NamesATensorOfTheWrongType) {
  ChangedModel changed("gpt2-tiny");
  changed.tensors.at("transformer.ln_f.bias").type = "I32";

  EXPECT_TRUE(
      test::mentions(test::input_error([&] { changed.load(); }), {"ln_f.bias", "I32", "F16"}));
}

TEST(Checkpoint, NamesAnUnexpectedTensor) {
  ChangedModel changed("vit-tiny");
  changed.tensors["vit.encoder.layer.3.output.dense.bias"] =
      test::raw_tensor("F32", {2}, std::vector<float>{1, 2});

  EXPECT_TRUE(test::mentions(test::input_error([&] { changed.load(); }),
                             {"encoder.layer.3.output.dense.bias", "[2]"}));
}

TEST(Checkpoint, RefusesATensorThatIsThereTwice) {
  ChangedModel changed("vit-tiny");
  changed.tensors["layernorm.bias"] = changed.tensors.at("vit.layernorm.bias");

  EXPECT_TRUE(
      test::mentions(test::input_error([&] { changed.open(); }), {"layernorm.bias", "twice"}));
}

TEST(Checkpoint, IgnoresWhatPublishedFilesCarryBesideTheWeights) {
  const auto one = test::raw_tensor("I64", {1}, std::vector<std::int64_t>{1});
  ChangedModel gpt2("gpt2-tiny"), bert("bert-tiny"), vit("vit-tiny");
  gpt2.tensors["transformer.h.0.attn.bias"] = one;
  gpt2.tensors["transformer.h.0.attn.masked_bias"] = one;
  bert.tensors["bert.embeddings.position_ids"] = one;
  bert.tensors["cls.predictions.bias"] = one;
  vit.tensors["vit.pooler.dense.bias"] = one;

  EXPECT_EQ(distance(gpt2, "gpt2-tiny"), 0);
  EXPECT_EQ(distance(bert, "bert-tiny"), 0);
  EXPECT_EQ(distance(vit, "vit-tiny"), 0);
}

TEST(Checkpoint, BertWithoutAClassifierGivesAnEmbedding) {
  ChangedModel changed("bert-tiny");
  changed.tensors.erase("classifier.weight");
  changed.tensors.erase("classifier.bias");
  const SafetensorsFile golden = test::open_golden("bert-tiny");

  const Model model = changed.load();
  const test::SinglePass pass = test::single_pass(model, test::golden_input(golden, "input"));

  EXPECT_EQ(model.config().head, HeadKind::mean_pooling);
  EXPECT_LT(test::relative_difference(pass.mean_pooled.view(),
                                      test::golden_matrix(golden, "single.mean_pooled").view()),
            1e-4);
}

TEST(Checkpoint, AnLmHeadOfItsOwnIsUsed) {
  ChangedModel tied("gpt2-tiny"), untied("gpt2-tiny");
  tied.tensors["lm_head.weight"] = tied.tensors.at("transformer.wte.weight");
  untied.tensors["lm_head.weight"] = tied.tensors.at("transformer.wte.weight");
  std::ranges::fill(untied.tensors["lm_head.weight"].bytes, std::byte{0});

  const Matrix<float> zeros = logits(untied.load(), "gpt2-tiny");

  EXPECT_EQ(distance(tied, "gpt2-tiny"), 0);
  for (const float logit : zeros.view().elements()) EXPECT_EQ(logit, 0);
}

TEST(Checkpoint, QkvWithoutBiasEqualsABiasOfZero) {
  ChangedModel zero("vit-tiny"), none("vit-tiny");
  none.json["qkv_bias"] = false;
  for (auto& [name, tensor] : zero.tensors)
    if (name.find("attention.attention.") != name.npos && name.ends_with(".bias")) {
      std::ranges::fill(tensor.bytes, std::byte{0});
      none.tensors.erase(name);
    }

  EXPECT_GT(distance(none, "vit-tiny"), 1e-3);  // the biases of the file are not zero
  EXPECT_LT(test::relative_difference(logits(none.load(), "vit-tiny").view(),
                                      logits(zero.load(), "vit-tiny").view()),
            1e-6);
}

TEST(Checkpoint, FingerprintSeesEveryByteNameAndShape) {
  const std::string before = ChangedModel("vit-tiny").open().weights->fingerprint();
  ChangedModel first("vit-tiny"), last("vit-tiny"), shape("vit-tiny");
  first.tensors.at("classifier.bias").bytes.front() ^= std::byte{1};
  last.tensors.at("vit.layernorm.weight").bytes.back() ^= std::byte{0x80};
  shape.tensors.at("classifier.bias").shape = {2, 5};

  EXPECT_EQ(before.size(), 16U);
  EXPECT_EQ(before, ChangedModel("vit-tiny").open().weights->fingerprint());
  EXPECT_NE(before, first.open().weights->fingerprint());
  EXPECT_NE(before, last.open().weights->fingerprint());
  EXPECT_NE(before, shape.open().weights->fingerprint());
}

}  // namespace
}  // namespace thinwire::model
