// config.json of a Hugging Face model folder. The first byte says whether the checkpoint has a
// classifier.

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/model/model_config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinwire;
  static const fuzz::InputFile file("config.json");
  if (size == 0) return 0;
  const bool has_classifier = data[0] % 2 == 1;
  fuzz::is_taken([&] {
    const Json json = read_json(file.write(fuzz::as_text(data + 1, size - 1)));
    const model::ModelConfig config =
        model::config_from_hugging_face(json, "fuzzed", has_classifier);
    fuzz::require(config.tokens >= 1 && config.tokens <= config.max_tokens);
    fuzz::require(config.layers >= 1 && config.head_dim() * config.heads == config.hidden);
  });
  return 0;
}
