#include "thinwire/harness/codebook_store.hpp"

#include "thinwire/harness/codebook_choice.hpp"

namespace thinwire::harness {
namespace {

/// What the set depends on: the codebooks, and the model that fills the buffers.
std::string key_of(const Point& point, const compress::CodebookUse& use,
                   const model::Model& model) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", model.fingerprint(), to_string(point.spec.dtype),
                     point.codebook->fingerprint, point.spec.codebook,
                     static_cast<int>(use.published), use.codes_first_exchange, use.groups,
                     static_cast<int>(use.buffers));
}

}  // namespace

const compress::CodebookSet* CodebookStore::set_for(const Point& point, const model::Model& model) {
  if (!point.codebook || point.spec.devices == 1) return nullptr;
  const compress::CodebookUse use = *codebook_use(point.spec);
  const std::string key = key_of(point, use, model);
  if (set_ && key_ == key) return &*set_;
  set_.reset();
  // The header has been checked against the model when the point was made.
  const auto source = open_codebooks(point.spec, use, point.config, "");
  set_.emplace(model, use, *source, place_.renew());
  place_.publish();
  key_ = key;
  return &*set_;
}

}  // namespace thinwire::harness
