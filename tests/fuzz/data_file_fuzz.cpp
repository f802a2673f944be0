// Data files of `--input`: pictures, texts, bytes and ready samples for models of every family.

#include <array>

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/eval/sample.hpp"

namespace {

using namespace thinwire;

std::array<model::ModelConfig, 4> tiny_models() {
  const model::ModelConfig vit{.name = "vit",
                               .family = model::Family::vit,
                               .tokens = 5,
                               .max_tokens = 5,
                               .image_size = 4,
                               .channels = 3,
                               .patch = 2};
  model::ModelConfig vivit = vit;
  vivit.name = "vivit";
  vivit.family = model::Family::vivit;
  vivit.frames = 2;
  vivit.tubelet_frames = 2;
  const model::ModelConfig bert{.name = "bert",
                                .family = model::Family::bert,
                                .tokens = 6,
                                .max_tokens = 8,
                                .vocabulary = 30,
                                .token_types = 2,
                                .head = model::HeadKind::pooler};
  model::ModelConfig gpt2 = bert;
  gpt2.name = "gpt2";
  gpt2.family = model::Family::gpt2;
  gpt2.vocabulary = 256;
  gpt2.token_types = 0;
  gpt2.head = model::HeadKind::language_model;
  return {vit, vivit, bert, gpt2};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file("input.safetensors");
  static const std::array<model::ModelConfig, 4> models = tiny_models();
  if (size == 0) return 0;
  const std::filesystem::path& path = file.write(fuzz::as_text(data + 1, size - 1));
  const Index index = data[0] % 4, window = data[0] / 64;
  for (const model::ModelConfig& config : models)
    fuzz::is_taken([&] {
      const eval::Sample sample =
          eval::load_sample(path, index, config, eval::preprocessing_for(config, {}), window);
      fuzz::require(!sample.sequences.empty());
      for (const model::ModelInput& sequence : sample.sequences)
        fuzz::require(sequence.tokens(config) >= 1);
    });
  return 0;
}
