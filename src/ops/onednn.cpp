#include "onednn.hpp"

#include <string_view>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::ops::onednn {
namespace {

constexpr auto kFp32 = dnnl::memory::data_type::f32;
constexpr auto kBf16 = dnnl::memory::data_type::bf16;

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::fp32 ? kFp32 : kBf16;
}

void append_activation(dnnl::post_ops& operations, Activation activation) {
  if (activation == Activation::none) return;
  const auto algorithm = activation == Activation::gelu_erf ? dnnl::algorithm::eltwise_gelu_erf
                                                            : dnnl::algorithm::eltwise_gelu_tanh;
#if DNNL_VERSION_MAJOR >= 3
  operations.append_eltwise(algorithm, 0.0F, 0.0F);
#else
  operations.append_eltwise(1.0F, algorithm, 0.0F, 0.0F);
#endif
}

dnnl::primitive_attr attributes(Epilogue epilogue) {
  dnnl::post_ops operations;
  append_activation(operations, epilogue.activation);
  if (epilogue.accumulate == Accumulate::yes) operations.append_sum(1.0F);
  dnnl::primitive_attr result;
  result.set_post_ops(operations);
  // The library's own scratchpad is sized by the thread that creates a primitive; ours are also
  // executed by others.
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return result;
}

MatmulPlan plan(const MatmulLayouts& layouts) {
  const dnnl::primitive_attr attr = attributes(layouts.epilogue);
  const auto& [source, weights, destination, has_bias, epilogue] = layouts;
  const Index outputs = shape_of(destination).cols;
#if DNNL_VERSION_MAJOR >= 3
  if (has_bias) return {cpu(), source, weights, dense_layout(1, outputs), destination, attr};
  return {cpu(), source, weights, destination, attr};
#else
  if (has_bias)
    return {dnnl::matmul::desc(source, weights, dense_layout(1, outputs), destination), attr,
            cpu()};
  return {dnnl::matmul::desc(source, weights, destination), attr, cpu()};
#endif
}

}  // namespace

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Layout strided_layout(Index rows, Index cols, Index row_stride, Index column_stride, DType dtype) {
  return {{rows, cols}, type_of(dtype), {row_stride, column_stride}};
}

Layout any_layout(Index rows, Index cols, DType dtype) {
  return {{rows, cols}, type_of(dtype), dnnl::memory::format_tag::any};
}

DType dtype_of(const Layout& layout) {
#if DNNL_VERSION_MAJOR >= 3
  return layout.get_data_type() == kBf16 ? DType::bf16 : DType::fp32;
#else
  return layout.data_type() == kBf16 ? DType::bf16 : DType::fp32;
#endif
}

MatrixShape shape_of(const Layout& layout) {
#if DNNL_VERSION_MAJOR >= 3
  const auto dims = layout.get_dims();
#else
  const auto dims = layout.dims();
#endif
  return {dims[0], dims[1]};
}

std::optional<MatmulPlan> find_matmul(const MatmulLayouts& layouts) {
  try {
    return plan(layouts);
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

MatmulPlan make_matmul(const MatmulLayouts& layouts) {
  try {
    return plan(layouts);
  } catch (const dnnl::error& error) {
    const auto source = shape_of(layouts.source), weights = shape_of(layouts.weights);
    throw Error(fmt::format("oneDNN has no product [{}, {}] x [{}, {}]: {}", source.rows,
                            source.cols, weights.rows, weights.cols, error.what()));
  }
}

bool is_reference(const MatmulPlan& plan) {
  return std::string_view(plan.impl_info_str()).starts_with("ref");
}

dnnl::memory borrow(const Layout& layout, const void* bytes) {
  return {layout, cpu(), const_cast<void*>(bytes)};  // oneDNN has no read-only memory
}

void reorder(const dnnl::memory& from, const dnnl::memory& to) {
  try {
    dnnl::stream stream(cpu());
    dnnl::reorder(from, to).execute(stream, const_cast<dnnl::memory&>(from),
                                    const_cast<dnnl::memory&>(to));
    stream.wait();
  } catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN cannot reorder weights: {}", error.what()));
  }
}

void check(dnnl_status_t status, const char* what) {
  TW_REQUIRE(status == dnnl_success, "oneDNN failed in {} (status {})", what,
             static_cast<int>(status));
}

BoundMatmul::BoundMatmul(const MatmulPlan& plan, dnnl::matmul primitive, dnnl::memory weights,
                         dnnl::memory bias)
    : primitive_(std::move(primitive)),
      stream_(cpu()),
      source_(borrow(plan.src_desc(), nullptr)),
      weights_(std::move(weights)),
      bias_(std::move(bias)),
      destination_(borrow(plan.dst_desc(), nullptr)) {
  const auto add = [this](int name, const dnnl::memory& memory) {
    arguments_[static_cast<std::size_t>(argument_count_++)] = {name, memory.get()};
  };
  add(DNNL_ARG_SRC, source_);
  add(DNNL_ARG_WEIGHTS, weights_);
  add(DNNL_ARG_DST, destination_);
  if (bias_) add(DNNL_ARG_BIAS, bias_);
  if (plan.scratchpad_desc().get_size() > 0) {
    scratchpad_ = dnnl::memory(plan.scratchpad_desc(), cpu());
    add(DNNL_ARG_SCRATCHPAD, scratchpad_);
  }
}

dnnl_status_t BoundMatmul::operator()(const void* source, float* destination) noexcept {
  dnnl_memory_set_data_handle(source_.get(), const_cast<void*>(source));
  dnnl_memory_set_data_handle(destination_.get(), destination);
  // The C call: the C++ one would build a map of the arguments every time.
  return dnnl_primitive_execute(primitive_.get(), stream_.get(), argument_count_,
                                arguments_.data());
}

}  // namespace thinwire::ops::onednn
