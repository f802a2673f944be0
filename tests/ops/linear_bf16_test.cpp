#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "ops/linear_reference.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/tensor/half.hpp"

namespace thinwire::ops {
namespace {

using test::copy_of;
using test::expect_linear;
using test::random_matrix;

std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

struct Shape {
  Index inputs, outputs;
};
constexpr std::array kShapes = {Shape{1, 1},   Shape{3, 5},    Shape{48, 96}, Shape{65, 33},
                                Shape{96, 10}, Shape{127, 70}, Shape{768, 77}};
constexpr Epilogue kGeluSum{Activation::gelu_erf, Accumulate::yes};

/// The same values, each the nearest bf16 number.
Matrix<float> rounded(const Matrix<float>& values) {
  Matrix<float> result(values.rows(), values.cols());
  std::ranges::transform(values.view().elements(), result.view().elements().begin(),
                         [](float value) { return bfloat16_to_float(float_to_bfloat16(value)); });
  return result;
}

Linear make_bf16(MatrixView<const float> weight, std::span<const float> bias = {},
                 Epilogue epilogue = {}) {
  return {weight, bias, epilogue, heap(), Packing::write, DType::bf16};
}

class LinearBf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_fast_bf16()) GTEST_SKIP() << "oneDNN has no bf16 instructions here";
  }
};

TEST_F(LinearBf16, MultipliesRoundedValuesAsExactlyAsFp32) {
  for (const Shape shape : kShapes) {
    const Matrix<float> weight = random_matrix(shape.outputs, shape.inputs, "weight", 0.3F);
    const Matrix<float> bias = random_matrix(1, shape.outputs, "bias");
    for (const Epilogue epilogue : {Epilogue{}, Epilogue{Activation::gelu_tanh}, kGeluSum}) {
      const Linear linear = make_bf16(weight.view(), bias.view().row(0), epilogue);
      for (const Index rows : {0, 1, 2, 17, 98, 197}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << shape.inputs << " inputs, "
                                        << shape.outputs << " outputs");
        const Matrix<float> x = random_matrix(rows, shape.inputs, "x");
        const Matrix<float> before = random_matrix(rows, shape.outputs, "before");
        Matrix<float> y = copy_of(before.view());
        Operations counted;

        linear(x.view(), y.view(), counted);

        // A product of two bf16 numbers is exact in fp32, so the tolerance is that of fp32 sums.
        expect_linear(rounded(x).view(), rounded(weight).view(), bias.view().row(0), epilogue,
                      before.view(), y.view());
      }
    }
  }
}

TEST_F(LinearBf16, CountsWhatFp32Counts) {
  const Matrix<float> weight = random_matrix(5, 3, "weight"), x = random_matrix(7, 3, "x");
  const std::vector<float> bias(5, 1.0F);
  Matrix<float> y(7, 5);
  Operations fp32, bf16;

  Linear(weight.view(), bias, kGeluSum, heap())(x.view(), y.view(), fp32);
  make_bf16(weight.view(), bias, kGeluSum)(x.view(), y.view(), bf16);

  EXPECT_EQ(bf16, fp32);
}

TEST_F(LinearBf16, PacksHalfTheBytes) {
  const Matrix<float> weight = random_matrix(128, 96, "weight");

  EXPECT_EQ(make_bf16(weight.view()).dtype(), DType::bf16);
  EXPECT_EQ(make_bf16(weight.view()).packed_bytes(), 2 * 128 * 96);
}

TEST_F(LinearBf16, GivesItsRoundedWeightsBackBitForBit) {
  for (const Shape shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.inputs << " inputs, " << shape.outputs << " outputs");
    const Matrix<float> wide = random_matrix(shape.outputs, shape.inputs + 3, "wide");
    const Matrix<float> nearest = rounded(wide);

    const Matrix<float> unpacked = make_bf16(wide.view().cols(2, shape.inputs)).unpacked();

    for (Index o = 0; o < shape.outputs; ++o)
      EXPECT_TRUE(
          std::ranges::equal(unpacked.view().row(o), nearest.view().cols(2, shape.inputs).row(o)));
  }
}

TEST_F(LinearBf16, ARowsResultDoesNotDependOnTheOthers) {
  const Matrix<float> weight = random_matrix(384, 96, "weight"), x = random_matrix(99, 96, "x");
  const Linear linear = make_bf16(weight.view());
  Matrix<float> whole(99, 384), parts(99, 384);
  Operations counted;

  const int before = threads();
  set_threads(2);
  linear(x.view(), whole.view(), counted);
  set_threads(before);
  for (const auto& [begin, rows] : {std::pair<Index, Index>{0, 50}, {50, 49}})
    linear(x.view().rows(begin, rows), parts.view().rows(begin, rows), counted);

  const std::span<const float> all = whole.view().elements();
  const std::span<const float> split = parts.view().elements();
  const float largest = std::ranges::max(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_NEAR(split[i], all[i], test::kFp32Epsilon * 8 * largest);
}

TEST(Runtime, FastBf16NeedsTheInstructionsAndMayBeForbidden) {
#if defined(__x86_64__)
  const bool has_instructions = __builtin_cpu_supports("avx512bf16") != 0;
#else
  const bool has_instructions = false;
#endif
  const char* const most = std::getenv("ONEDNN_MAX_CPU_ISA");

  EXPECT_LE(has_fast_bf16(), has_instructions && most == nullptr);
}

}  // namespace
}  // namespace thinwire::ops
