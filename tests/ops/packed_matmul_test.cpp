#include "packed_matmul.hpp"

#include <gtest/gtest.h>

#include <array>

#include "ops/linear_reference.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::ops {
namespace {

using test::expect_linear;
using test::random_matrix;

constexpr Index kInputs = 65, kOutputs = 70;

/// A copy of transpose(weight) in the layout that `tag` names.
struct Repacked {
  Repacked(const Matrix<float>& weight, const onednn::Layout& layout)
      : bytes(1, static_cast<Index>(layout.get_size())),
        memory(onednn::borrow(layout, bytes.view().data())) {
    onednn::reorder(
        onednn::borrow(onednn::strided_layout(weight.cols(), weight.rows(), 1, weight.cols()),
                       weight.view().data()),
        memory);
  }
  Matrix<std::byte> bytes;
  dnnl::memory memory;
};

onednn::Layout tagged(dnnl::memory::format_tag tag) {
  return {{kInputs, kOutputs}, dnnl::memory::data_type::f32, tag};
}

std::size_t copies_made_for(const onednn::Layout& layout) {
  const Matrix<float> weight = random_matrix(kOutputs, kInputs, "weight");
  const Repacked packed(weight, layout);
  const PackedMatmul multiply(packed.memory, {}, {});
  for (const Index rows : {1, 2, 17, 98, 197}) {
    SCOPED_TRACE(testing::Message() << rows << " rows");
    const Matrix<float> x = random_matrix(rows, kInputs, "x");
    Matrix<float> y(rows, kOutputs);

    multiply(x.view().data(), y.view().data(), rows);

    expect_linear(x.view(), weight.view(), {}, {}, Matrix<float>(rows, kOutputs).view(), y.view());
  }
  return multiply.copies();
}

TEST(PackedMatmul, PreferredLayoutServesEveryRowCount) {
  EXPECT_EQ(copies_made_for(PackedMatmul::preferred_layout(kInputs, kOutputs, false, {})), 0U);
}

TEST(PackedMatmul, LayoutsOfOtherMachinesAreReorderedOnceOrUsedAsTheyAre) {
  using tag = dnnl::memory::format_tag;
  for (const tag layout :
       {tag::ab, tag::ba, tag::BA16a16b, tag::BA16a32b, tag::BA16a64b, tag::AB16b16a, tag::AB8a4b})
    EXPECT_LE(copies_made_for(tagged(layout)), 1U) << "tag " << static_cast<int>(layout);
}

TEST(PackedMatmul, ALayoutWithoutAKernelIsReordered) {
  EXPECT_EQ(copies_made_for(tagged(dnnl::memory::format_tag::AB8a4b)), 1U);
}

TEST(PackedMatmul, RefusesARowCountAsOftenAsItIsAsked) {
  const Matrix<float> weight = random_matrix(kOutputs, kInputs, "weight");
  const Repacked packed(weight, PackedMatmul::preferred_layout(kInputs, kOutputs, false, {}));
  const PackedMatmul multiply(packed.memory, {}, {});
  Matrix<float> x(1, kInputs), y(1, kOutputs);

  for (int time = 0; time < 2; ++time)
    EXPECT_ANY_THROW(multiply(x.view().data(), y.view().data(), -1)) << time;
}

TEST(PackedMatmul, EverMoreRowCountsDoNotFillTheMemory) {
  const Matrix<float> weight = random_matrix(kOutputs, kInputs, "weight");
  const Repacked packed(weight, PackedMatmul::preferred_layout(kInputs, kOutputs, false, {}));
  const PackedMatmul multiply(packed.memory, {}, {});
  constexpr Index kMost = PackedMatmul::kMostKept + 10;
  const Matrix<float> x = random_matrix(kMost, kInputs, "x");
  Matrix<float> y(kMost, kOutputs);

  for (Index rows = 1; rows <= kMost; ++rows) multiply(x.view().data(), y.view().data(), rows);
  multiply(x.view().data(), y.view().data(), 1);  // dropped by now, and made again

  EXPECT_EQ(multiply.kept(), PackedMatmul::kMostKept);
  expect_linear(x.view(), weight.view(), {}, {}, Matrix<float>(kMost, kOutputs).view(), y.view());
}

}  // namespace
}  // namespace thinwire::ops
