#include "thinwire/ops/linear.hpp"

#include <algorithm>
#include <utility>

#include "bf16_rows.hpp"
#include "packed_matmul.hpp"
#include "panel_product.hpp"

namespace thinwire::ops {

namespace {

/// oneDNN takes weights as [inputs, outputs]: the transpose of a matrix [outputs, inputs], whose
/// rows are `stride` floats apart, is the same floats with the two strides exchanged.
dnnl::memory transposed(const float* weight, Index outputs, Index inputs, Index stride) {
  return onednn::borrow(onednn::strided_layout(inputs, outputs, 1, stride), weight);
}

}  // namespace

struct Linear::Impl {
  Impl(MatrixView<const float> weight, std::span<const float> bias_values, Epilogue wanted,
       std::pmr::memory_resource* memory, Packing packing, DType wanted_dtype);

  void pack(MatrixView<const float> weight);
  void run(const float* x, float* y, Index rows) const;
  /// fp32 weights are panels of ours, which outrun oneDNN's products; bf16 is oneDNN's.
  float* panels() { return reinterpret_cast<float*>(packed.view().data()); }
  const float* panels() const { return reinterpret_cast<const float*>(packed.view().data()); }

  Index inputs, outputs;
  Epilogue epilogue;
  DType dtype;
  onednn::Layout layout;                  // empty for fp32
  Matrix<std::byte> packed;               // the order of these two is the order of allocation
  Matrix<float> bias;                     // [1, outputs], or [0, 0] without a bias
  std::unique_ptr<PackedMatmul> reduced;  // null for fp32
};

Linear::Impl::Impl(MatrixView<const float> weight, std::span<const float> bias_values,
                   Epilogue wanted, std::pmr::memory_resource* memory, Packing packing,
                   DType wanted_dtype)
    : inputs(weight.cols()),
      outputs(weight.rows()),
      epilogue(wanted),
      dtype(wanted_dtype),
      layout(dtype == DType::fp32 ? onednn::Layout()
                                  : PackedMatmul::preferred_layout(
                                        inputs, outputs, !bias_values.empty(), wanted, dtype)),
      packed(1,
             dtype == DType::fp32 ? panel_floats(outputs, inputs) * Index{sizeof(float)}
                                  : static_cast<Index>(layout.get_size()),
             memory, Matrix<std::byte>::Fill::none),
      bias(bias_values.empty() ? 0 : 1, std::ssize(bias_values), memory,
           Matrix<float>::Fill::none) {
  if (dtype != DType::fp32)
    reduced = std::make_unique<PackedMatmul>(
        onednn::borrow(layout, packed.view().data()),
        bias_values.empty() ? dnnl::memory()
                            : onednn::borrow(onednn::dense_layout(1, outputs), bias.view().data()),
        wanted);
  if (packing == Packing::attach) return;
  pack(weight);
  std::ranges::copy(bias_values, bias.view().data());
}

void Linear::Impl::pack(MatrixView<const float> weight) {
  if (dtype == DType::fp32) return pack_panels(weight, panels());
  onednn::reorder(transposed(weight.data(), outputs, inputs, weight.stride()),
                  onednn::borrow(layout, packed.view().data()));
}

void Linear::Impl::run(const float* x, float* y, Index rows) const {
  if (dtype == DType::fp32)
    PanelProduct{panels(), bias.view().elements(), inputs, outputs, epilogue}(x, y, rows);
  else
    (*reduced)(as_bf16(x, rows * inputs), y, rows);
}

Linear::Linear(MatrixView<const float> weight, std::span<const float> bias, Epilogue epilogue,
               std::pmr::memory_resource* memory, Packing packing, DType dtype) {
  TW_REQUIRE(weight.rows() > 0 && weight.cols() > 0, "a weight of [{}, {}]", weight.rows(),
             weight.cols());
  TW_REQUIRE(bias.empty() || std::ssize(bias) == weight.rows(), "a bias of {} for {} outputs",
             bias.size(), weight.rows());
  impl_ = std::make_unique<Impl>(weight, bias, epilogue, memory, packing, dtype);
}

Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

void Linear::operator()(MatrixView<const float> x, MatrixView<float> y, Operations& counted) const {
  const Index inputs = impl_->inputs, outputs = impl_->outputs;
  TW_REQUIRE(x.cols() == inputs && y.cols() == outputs && x.rows() == y.rows(),
             "x [{}, {}] and y [{}, {}] for weights [{}, {}]", x.rows(), x.cols(), y.rows(),
             y.cols(), outputs, inputs);
  TW_REQUIRE(x.is_dense() && y.is_dense(), "rows of x {} and of y {} floats apart, not dense",
             x.stride(), y.stride());
  if (x.rows() == 0) return;

  impl_->run(x.data(), y.data(), x.rows());

  const std::int64_t elements = x.rows() * outputs;
  counted.matmul_macs += elements * inputs;
  if (impl_->bias.rows() > 0) counted.bias_elements += elements;
  if (impl_->epilogue.activation != Activation::none) counted.gelu_elements += elements;
  if (impl_->epilogue.accumulate == Accumulate::yes) counted.residual_elements += elements;
}

Index Linear::inputs() const {
  return impl_->inputs;
}
Index Linear::outputs() const {
  return impl_->outputs;
}

Epilogue Linear::epilogue() const {
  return impl_->epilogue;
}

DType Linear::dtype() const {
  return impl_->dtype;
}

Matrix<float> Linear::unpacked() const {
  Matrix<float> weight(outputs(), inputs(), std::pmr::new_delete_resource(),
                       Matrix<float>::Fill::none);
  if (dtype() == DType::fp32)
    unpack_panels(std::as_const(*impl_).panels(), weight.view());
  else
    onednn::reorder(onednn::borrow(impl_->layout, impl_->packed.view().data()),
                    transposed(weight.view().data(), outputs(), inputs(), inputs()));
  return weight;
}

std::span<const float> Linear::bias() const {
  return std::as_const(impl_->bias).view().elements();
}

std::int64_t Linear::packed_bytes() const {
  return static_cast<std::int64_t>(impl_->packed.bytes() + impl_->bias.bytes());
}

}  // namespace thinwire::ops
