#include "thinwire/harness/codebook_store.hpp"

#include <malloc.h>

#include "thinwire/harness/codebook_choice.hpp"

namespace thinwire::harness {
namespace {

// Address space, not memory. 65,536 codewords with buffers for GPT-2 take 10 GB.
constexpr std::int64_t kReserveBytes = std::int64_t{1} << 36;

/// What the set depends on: the codebooks, and the model that fills the buffers.
std::string key_of(const Point& point, const compress::CodebookUse& use,
                   const model::Model& model) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", model.fingerprint(), point.codebook->fingerprint,
                     point.spec.codebook, static_cast<int>(use.published), use.codes_first_exchange,
                     use.groups, static_cast<int>(use.buffers));
}

}  // namespace

const compress::CodebookSet* CodebookStore::set_for(const Point& point, const model::Model& model) {
  if (!point.codebook || point.spec.devices == 1) return nullptr;
  const compress::CodebookUse use = *codebook_use(point.spec);
  const std::string key = key_of(point, use, model);
  if (set_ && key_ == key) return &*set_;
  set_.reset();
  memory_.reset();
  // The header has been checked against the model when the point was made.
  const auto source = open_codebooks(point.spec, use, point.config, "");
  model::WeightPlace place{std::pmr::new_delete_resource()};
  if (mpi_ != nullptr && mpi_->size() > 1) {
    memory_.emplace(*mpi_, kReserveBytes);
    place = {&*memory_, memory_->is_writer() ? ops::Packing::write : ops::Packing::attach};
  }
  set_.emplace(model, use, *source, place);
  malloc_trim(0);                             // raw codewords have passed through the heap
  if (mpi_ != nullptr) mpi_->world().meet();  // nobody reads before the writer is done
  key_ = key;
  return &*set_;
}

}  // namespace thinwire::harness
