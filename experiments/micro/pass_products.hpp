#pragma once
#include <vector>

#include "ceiling.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::micro {

/// The products of a pass of config.tokens rows on one device, in order: all that its
/// operation count has, but those of a single row (pooler, classifier).
std::vector<Product> products_of(const model::ModelConfig& config);

}  // namespace thinwire::micro
