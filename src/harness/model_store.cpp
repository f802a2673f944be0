#include "thinwire/harness/model_store.hpp"

#include <malloc.h>

namespace thinwire::harness {
namespace {

// Address space, not memory: only touched pages are paid for. Packed weights, the raw tables and
// padding of the largest preset (GPT-2: 650 MB) fit many times.
constexpr std::int64_t kReserveBytes = std::int64_t{1} << 36;

/// What the packed weights depend on.
std::string key_of(const Point& point) {
  return fmt::format("{}|{}|{}", point.spec.model, point.spec.seed, point.config.max_tokens);
}

}  // namespace

const model::Model& ModelStore::model_for(const Point& point) {
  if (model_ && key_ == key_of(point)) return *model_;
  model_.reset();
  memory_.reset();
  const std::unique_ptr<model::WeightSource> source = open_weights(point);
  model::WeightPlace place{std::pmr::new_delete_resource()};
  if (mpi_ != nullptr && mpi_->size() > 1) {
    memory_.emplace(*mpi_, kReserveBytes);
    place = {&*memory_, memory_->is_writer() ? ops::Packing::write : ops::Packing::attach};
  }
  model_.emplace(point.config, *source, place);
  malloc_trim(0);  // raw tensors have passed through the heap; a rank shall not keep their room
  if (mpi_ != nullptr) mpi_->world().meet();  // nobody reads before the writer is done
  key_ = key_of(point);
  return *model_;
}

}  // namespace thinwire::harness
