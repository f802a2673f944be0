#include "pass_products.hpp"

namespace thinwire::micro {

std::vector<Product> products_of(const model::ModelConfig& config) {
  const Index n = config.tokens, hidden = config.hidden;
  const auto gelu =
      config.gelu == model::Gelu::erf ? ops::Activation::gelu_erf : ops::Activation::gelu_tanh;
  std::vector<Product> products;
  if (!config.is_text()) products.push_back({config.patches(), config.patch_inputs(), hidden});
  for (Index layer = 0; layer < config.layers; ++layer) {
    products.push_back({n, hidden, hidden});
    products.push_back({n, hidden, 2 * hidden});
    products.push_back({n, config.head_dim(), n, ops::Activation::none, config.heads});
    products.push_back({n, n, config.head_dim(), ops::Activation::none, config.heads});
    products.push_back({n, hidden, hidden});
    products.push_back({n, hidden, config.ffn, gelu});
    products.push_back({n, config.ffn, hidden});
  }
  if (config.head == model::HeadKind::language_model)
    products.push_back({n, hidden, config.vocabulary});
  return products;
}

}  // namespace thinwire::micro
