#include "thinwire/model/model_input.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"
#include "thinwire/base/random.hpp"

namespace thinwire::model {
namespace {

Index pixels_of(const ModelConfig& config) {
  return config.frames * config.channels * config.image_size * config.image_size;
}

void check_pixels(const ModelInput& input, const ModelConfig& config) {
  require_input(input.ids.empty(), "the input has token ids, but {} takes pixels", config.name);
  require_input(std::ssize(input.pixels) == pixels_of(config),
                "the input has {} pixel values, but {} takes {} (frames {}, channels {}, {}x{})",
                input.pixels.size(), config.name, pixels_of(config), config.frames, config.channels,
                config.image_size, config.image_size);
}

void check_ids(const char* what, std::span<const std::int32_t> ids, Index limit) {
  const auto bad =
      std::ranges::find_if(ids, [&](std::int32_t id) { return id < 0 || id >= limit; });
  require_input(bad == ids.end(), "{} {} at position {} is outside 0..{}", what,
                bad == ids.end() ? 0 : *bad, bad - ids.begin(), limit - 1);
}

void check_text(const ModelInput& input, const ModelConfig& config) {
  const Index tokens = std::ssize(input.ids);
  require_input(input.pixels.empty(), "the input has pixels, but {} takes token ids", config.name);
  require_input(tokens >= 1, "the input has no tokens");
  require_input(tokens <= config.max_tokens, "the input has {} tokens, but {} has {} positions",
                tokens, config.name, config.max_tokens);
  check_ids("token id", input.ids, config.vocabulary);

  require_input(input.types.empty() || config.family == Family::bert,
                "the input has token types, but {} takes none", config.name);
  require_input(input.types.empty() || std::ssize(input.types) == tokens,
                "the input has {} token types for {} tokens", input.types.size(), tokens);
  check_ids("token type", input.types, config.token_types);

  require_input(input.real.empty() || std::ssize(input.real) == tokens,
                "the input has an attention mask of {} for {} tokens", input.real.size(), tokens);
  require_input(
      input.real.empty() || std::ranges::any_of(input.real, [](auto r) { return r != 0; }),
      "the input has no real token: its attention mask is 0 everywhere");
}

}  // namespace

Index ModelInput::tokens(const ModelConfig& config) const {
  return config.is_text() ? std::ssize(ids) : config.tokens;
}

void check_input(const ModelInput& input, const ModelConfig& config) {
  if (config.is_text())
    check_text(input, config);
  else
    check_pixels(input, config);
}

ModelInput random_input(const ModelConfig& config, Index tokens, std::uint64_t seed) {
  const RandomStream stream("input", seed);
  ModelInput input;
  if (config.is_text()) {
    TW_REQUIRE(tokens >= 1 && tokens <= config.max_tokens, "{} tokens for {} positions of {}",
               tokens, config.max_tokens, config.name);
    const auto vocabulary = static_cast<std::uint64_t>(config.vocabulary);
    for (Index i = 0; i < tokens; ++i)
      input.ids.push_back(
          static_cast<std::int32_t>(stream.bits(static_cast<std::uint64_t>(i)) % vocabulary));
    return input;
  }
  TW_REQUIRE(tokens == config.tokens, "{} tokens for {}, which has {}", tokens, config.name,
             config.tokens);
  input.pixels.resize(static_cast<std::size_t>(pixels_of(config)));
  for (std::size_t i = 0; i < input.pixels.size(); ++i) input.pixels[i] = 2 * stream.uniform(i) - 1;
  return input;
}

}  // namespace thinwire::model
