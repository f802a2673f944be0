#include "packed_matmul.hpp"

#include <omp.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace thinwire::ops {
namespace {

constexpr Index kPackingRows = 128;

onednn::MatmulLayouts layouts_for(Index rows, Index inputs, Index outputs, bool has_bias,
                                  Epilogue epilogue, DType dtype) {
  return {onednn::dense_layout(rows, inputs, dtype), onednn::any_layout(inputs, outputs, dtype),
          onednn::dense_layout(rows, outputs), has_bias, epilogue};
}

}  // namespace

PackedMatmul::PackedMatmul(dnnl::memory weights, dnnl::memory bias, Epilogue epilogue)
    : weights_(std::move(weights)), bias_(std::move(bias)), epilogue_(epilogue) {}

onednn::Layout PackedMatmul::preferred_layout(Index inputs, Index outputs, bool has_bias,
                                              Epilogue epilogue, DType dtype) {
  return onednn::make_matmul(layouts_for(kPackingRows, inputs, outputs, has_bias, epilogue, dtype))
      .weights_desc();
}

void PackedMatmul::operator()(const void* x, float* y, Index rows) const {
  const std::shared_ptr<Prepared> matmul = prepared(rows);  // another thread may drop it meanwhile
  Lease bound = borrow_bound(*matmul);
  const dnnl_status_t status = (*bound)(x, y);
  give_back(*matmul, std::move(bound));
  onednn::check(status, "a product with packed weights");
}

std::size_t PackedMatmul::copies() const {
  const std::shared_lock lock(mutex_);
  return copies_.size();
}

std::size_t PackedMatmul::kept() const {
  const std::shared_lock lock(mutex_);
  return prepared_.size();
}

std::shared_ptr<PackedMatmul::Prepared> PackedMatmul::prepared(Index rows) const {
  const Key key{rows, omp_get_max_threads()};
  {
    const std::shared_lock lock(mutex_);
    if (const auto* const found = prepared_.find(key)) return *found;
  }
  const std::unique_lock lock(mutex_);
  if (const auto* const found = prepared_.find(key)) return *found;  // another thread was first
  return prepared_.insert(key, prepare(rows));
}

std::shared_ptr<PackedMatmul::Prepared> PackedMatmul::prepare(Index rows) const {
  const auto [inputs, outputs] = onednn::shape_of(weights_.get_desc());
  const bool has_bias = static_cast<bool>(bias_);
  const onednn::MatmulLayouts free = layouts_for(rows, inputs, outputs, has_bias, epilogue_,
                                                 onednn::dtype_of(weights_.get_desc()));
  onednn::MatmulLayouts packed = free;
  packed.weights = weights_.get_desc();

  std::optional<onednn::MatmulPlan> plan = onednn::find_matmul(packed);
  if (!plan || onednn::is_reference(*plan)) plan = onednn::make_matmul(free);
  auto result = std::make_shared<Prepared>(*plan, dnnl::matmul(*plan));
  result->weights = weights_as(plan->weights_desc(), rows);
  return result;
}

dnnl::memory PackedMatmul::weights_as(const onednn::Layout& layout, Index rows) const {
  if (layout == weights_.get_desc()) return weights_;
  for (const Copy& copy : copies_)
    if (copy.memory.get_desc() == layout) return copy.memory;

  // On the heap: the place of the packed weights may be shared by ranks that do not need a copy.
  const auto bytes = static_cast<Index>(layout.get_size());
  Copy copy{
      Matrix<std::byte>(1, bytes, std::pmr::new_delete_resource(), Matrix<std::byte>::Fill::none),
      {}};
  copy.memory = onednn::borrow(layout, copy.bytes.view().data());
  onednn::reorder(weights_, copy.memory);
  const auto [inputs, outputs] = onednn::shape_of(layout);
  spdlog::info("weights [{}, {}] were reordered for {} rows ({} bytes more)", outputs, inputs, rows,
               bytes);
  return copies_.emplace_back(std::move(copy)).memory;
}

PackedMatmul::Lease PackedMatmul::borrow_bound(Prepared& from) const {
  {
    const std::lock_guard lock(from.mutex);
    if (!from.idle.empty()) {
      Lease bound = std::move(from.idle.back());
      from.idle.pop_back();
      return bound;
    }
  }
  return std::make_unique<onednn::BoundMatmul>(from.plan, from.primitive, from.weights, bias_);
}

void PackedMatmul::give_back(Prepared& to, Lease bound) const {
  const std::lock_guard lock(to.mutex);
  to.idle.push_back(std::move(bound));
}

}  // namespace thinwire::ops
