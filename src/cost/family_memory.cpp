#include "thinwire/cost/family.hpp"
#include "thinwire/cost/memory.hpp"

namespace thinwire::cost {
namespace {

/// Values of the head's results on `device`, and what it receives for them.
Index head_values(const Workload& workload, const Share& share, int device) {
  const model::ModelConfig& model = workload.model;
  const bool is_first = device == 0;
  const bool is_pooled = model.head == model::HeadKind::mean_pooling;
  const bool is_everywhere = is_pooled || model.head == model::HeadKind::language_model;
  const Index results = is_first || is_everywhere ? whole_head_values(model, share.local()) : 0;
  // A row of every device: partial sums, or copies of the class token.
  const bool gathers = is_first && workload.devices > 1 && (is_pooled || share.replicated > 0);
  return results + (gathers ? workload.devices * model.hidden : 0);
}

}  // namespace

std::int64_t family_activations_bytes(const Workload& workload, const FamilyMethod* method,
                                      const Share& share, int device) {
  const model::ModelConfig& model = workload.model;
  const Index n = share.local(), hidden = model.hidden;
  const Index columns = method != nullptr ? method->columns(share) : share.tokens();

  Index values = 0;
  values += n * hidden;                          // x [n, D]
  values += n * hidden;                          // normed [n, D]
  values += n * hidden;                          // query [n, D]
  values += n * hidden;                          // attended [n, D]
  values += n * model.ffn;                       // ffn [n, F]
  values += 2 * n;                               // log counts, positions [n]
  values += kv_context_values(columns, hidden);  // K|V and what describes them
  values += attention_scratch_values(n, columns, model.head_dim(), workload.threads);
  values += model.is_text() ? 0 : n * model.patch_inputs();  // patches [n, patch_inputs]
  values += head_values(workload, share, device);
  return kBytesPerValue * values + (method != nullptr ? method->workspace_bytes(share) : 0);
}

}  // namespace thinwire::cost
