#include "thinwire/harness/model_store.hpp"

namespace thinwire::harness {
namespace {

/// What the packed weights depend on.
std::string key_of(const Point& point) {
  return fmt::format("{}|{}|{}", point.spec.model, point.spec.seed, point.config.max_tokens);
}

}  // namespace

const model::Model& ModelStore::model_for(const Point& point) {
  if (model_ && key_ == key_of(point)) return *model_;
  model_.reset();
  const std::unique_ptr<model::WeightSource> source = open_weights(point.spec, point.config);
  model_.emplace(point.config, *source, place_.renew());
  place_.publish();
  key_ = key_of(point);
  return *model_;
}

}  // namespace thinwire::harness
