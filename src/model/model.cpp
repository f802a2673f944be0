#include "thinwire/model/model.hpp"

#include <algorithm>
#include <utility>

namespace thinwire::model {
namespace {

std::vector<Block> make_blocks(const ModelConfig& config, WeightSource& source, WeightPlace place) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(config.layers));
  for (Index layer = 0; layer < config.layers; ++layer)
    blocks.emplace_back(config, layer, source, place);
  return blocks;
}

Matrix<char> make_fingerprint(const WeightSource& source, WeightPlace place) {
  constexpr Index kDigits = 16;
  Matrix<char> digits(1, kDigits, place.memory, Matrix<char>::Fill::none);
  if (place.packing == ops::Packing::attach) return digits;
  const std::string text = source.fingerprint();
  TW_REQUIRE(std::ssize(text) == kDigits, "fingerprint \"{}\" has not {} digits", text, kDigits);
  std::ranges::copy(text, digits.view().row(0).begin());
  return digits;
}

}  // namespace

Model::Model(ModelConfig config, WeightSource& source, WeightPlace place)
    : config_(std::move(config)),
      embedding_(config_, source, place),
      blocks_(make_blocks(config_, source, place)),
      head_(config_, embedding_, source, place),
      fingerprint_(make_fingerprint(source, place)) {
  if (place.packing == ops::Packing::write) source.require_all_used();
}

std::string Model::fingerprint() const {
  const std::span<const char> digits = fingerprint_.view().row(0);
  return {digits.begin(), digits.end()};
}

}  // namespace thinwire::model
