// Data files of `--input`: pictures, texts, bytes and ready samples for models of every family.

#include <array>

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/eval/data_file.hpp"

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

/// What a sample that loads must be like.
void check_sample(const eval::DataFile& file, Index index, const model::ModelConfig& config) {
  const eval::Sample sample = file.load(index);
  fuzz::require(index < file.samples() && !sample.sequences.empty());
  const std::vector<Index> tokens = file.tokens_of(index);
  fuzz::require(tokens.size() == sample.sequences.size());
  for (std::size_t s = 0; s < tokens.size(); ++s)
    fuzz::require(tokens[s] >= 1 && tokens[s] == sample.sequences[s].tokens(config));
  fuzz::require(sample.candidates.empty() || sample.candidates.size() == tokens.size());
  for (std::size_t s = 0; s < sample.candidates.size(); ++s) {
    const auto [begin, end] = sample.candidates[s];
    fuzz::require(begin >= 1 && begin < end && end <= tokens[s]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile input("input.safetensors");
  static const std::array<model::ModelConfig, 4> models = tiny_models();
  if (size == 0) return 0;
  const std::filesystem::path& path = input.write(fuzz::as_text(data + 1, size - 1));
  const Index index = data[0] % 4, window = data[0] / 64;
  for (const model::ModelConfig& config : models)
    fuzz::is_taken([&] {
      const eval::DataFile file(path, config, eval::preprocessing_for(config, {}), window);
      check_sample(file, index, config);
    });
  return 0;
}
