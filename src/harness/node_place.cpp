#include "thinwire/harness/node_place.hpp"

#include <malloc.h>

namespace thinwire::harness {
namespace {

// Address space, not memory: only touched pages are paid for. Packed weights, the raw tables and
// padding of the largest preset (GPT-2: 650 MB) fit many times, 65,536 codewords with buffers for
// it (10 GB) as well.
constexpr std::int64_t kReserveBytes = std::int64_t{1} << 36;
// Of a process alone; what more is needed comes in ever larger blocks. Untouched pages cost
// nothing.
constexpr std::size_t kFirstBytes = std::size_t{1} << 28;
constexpr std::int64_t kOwnReserveBytes = std::int64_t{1} << 34;  // a rank's slice of such a model

}  // namespace

model::WeightPlace NodePlace::renew() {
  memory_.reset();
  alone_.reset();
  if (mpi_ == nullptr || mpi_->size() == 1) return {&alone_.emplace(kFirstBytes, &pages_)};
  memory_.emplace(*mpi_, kReserveBytes);
  return {&*memory_, memory_->is_writer() ? ops::Packing::write : ops::Packing::attach};
}

void NodePlace::publish() {
  malloc_trim(0);  // raw tensors have passed through the heap; a rank shall not keep their room
  if (mpi_ != nullptr) mpi_->world().meet();  // nobody reads before the writer is done
}

OwnPlace::OwnPlace(fabric::MpiSession* mpi) {
  if (mpi != nullptr && mpi->size() > 1)
    memory_.emplace(*mpi, kOwnReserveBytes, fabric::NodeMemory::Places::own);
}

std::pmr::memory_resource* OwnPlace::memory() {
  if (memory_) return &*memory_;
  return std::pmr::new_delete_resource();
}

}  // namespace thinwire::harness
