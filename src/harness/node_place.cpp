#include "thinwire/harness/node_place.hpp"

#include <malloc.h>

namespace thinwire::harness {
namespace {

// Address space, not memory: only touched pages are paid for. Packed weights, the raw tables and
// padding of the largest preset (GPT-2: 650 MB) fit many times, 65,536 codewords with buffers for
// it (10 GB) as well.
constexpr std::int64_t kReserveBytes = std::int64_t{1} << 36;

}  // namespace

model::WeightPlace NodePlace::renew() {
  memory_.reset();
  if (mpi_ == nullptr || mpi_->size() == 1) return {std::pmr::new_delete_resource()};
  memory_.emplace(*mpi_, kReserveBytes);
  return {&*memory_, memory_->is_writer() ? ops::Packing::write : ops::Packing::attach};
}

void NodePlace::publish() {
  malloc_trim(0);  // raw tensors have passed through the heap; a rank shall not keep their room
  if (mpi_ != nullptr) mpi_->world().meet();  // nobody reads before the writer is done
}

}  // namespace thinwire::harness
