#pragma once
#include <vector>

#include "ceiling.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::micro {

/// The products of a pass of config.tokens rows on one device, in order. Left out are attention's
/// two, which are no products with packed weights, and those of a single row (pooler, classifier).
std::vector<Product> products_of(const model::ModelConfig& config);

}  // namespace thinwire::micro
