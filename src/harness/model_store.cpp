#include "thinwire/harness/model_store.hpp"

#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {
namespace {

/// What the packed weights depend on.
std::string key_of(const Point& point) {
  return fmt::format("{}|{}|{}|{}", point.spec.model, point.spec.seed, point.config.max_tokens,
                     to_string(point.spec.dtype));
}

}  // namespace

const model::Model& ModelStore::model_for(const Point& point) {
  if (model_ && key_ == key_of(point)) return *model_;
  require_cpu(point.spec);
  model_.reset();
  const std::unique_ptr<model::WeightSource> source = open_weights(point.spec, point.config);
  model::WeightPlace place = place_.renew();
  place.dtype = point.spec.dtype;
  model_.emplace(point.config, *source, place);
  place_.publish();
  key_ = key_of(point);
  return *model_;
}

}  // namespace thinwire::harness
