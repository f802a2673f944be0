#include "thinwire/harness/codebook_store.hpp"

#include <algorithm>

#include "thinwire/harness/codebook_choice.hpp"

namespace thinwire::harness {
namespace {

constexpr std::int64_t kMostBytesKept = std::int64_t{512} << 20;

compress::WithIndexTables tables_for(const RunSpec& spec) {
  return spec.index_coding == compress::IndexCoding::fixed ? compress::WithIndexTables::no
                                                           : compress::WithIndexTables::yes;
}

/// What the set depends on: the codebooks, and the model that fills the buffers.
std::string key_of(const Point& point, const compress::CodebookUse& use,
                   const model::Model& model) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", model.fingerprint(), to_string(point.spec.dtype),
                     point.codebook->fingerprint, point.spec.codebook,
                     static_cast<int>(use.published), use.codes_first_exchange, use.groups,
                     static_cast<int>(use.buffers), static_cast<int>(tables_for(point.spec)));
}

}  // namespace

const compress::CodebookSet* CodebookStore::set_for(const Point& point, const model::Model& model) {
  if (!point.codebook || point.spec.devices == 1) return nullptr;
  const compress::CodebookUse use = *codebook_use(point.spec);
  const std::string key = key_of(point, use, model);
  const auto known = std::ranges::find(kept_, key, &Kept::key);
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
    return &*known->set;
  }
  make_room(model.fingerprint());
  std::list<Kept> made;  // not found again unless it is whole
  made.emplace_back(model.fingerprint(), key, mpi_);
  // The header has been checked against the model when the point was made.
  const auto source = open_codebooks(point.spec, use, point.config, "");
  made.front().set.emplace(model, use, *source, made.front().place.renew(), tables_for(point.spec));
  made.front().place.publish();
  kept_.splice(kept_.begin(), made);
  return &*kept_.front().set;
}

/// On a process's own heap, whose memory records show, nothing stays.
void CodebookStore::make_room(const std::string& model) {
  std::int64_t bytes = 0;
  std::erase_if(kept_, [&](const Kept& kept) {
    bytes += kept.place.used_bytes();
    return kept.place.used_bytes() == 0 || kept.model != model || bytes > kMostBytesKept;
  });
}

}  // namespace thinwire::harness
