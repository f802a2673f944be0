#include "thinwire/ops/linear.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <thread>
#include <vector>

#include "ops/linear_reference.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::ops {
namespace {

using test::copy_of;
using test::expect_linear;
using test::random_matrix;

constexpr std::array<Index, 7> kRowCounts = {0, 1, 2, 5, 17, 98, 197};

std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

struct Shape {
  Index inputs, outputs;
};
constexpr std::array kShapes = {Shape{1, 1},   Shape{3, 5},    Shape{48, 96}, Shape{65, 33},
                                Shape{96, 10}, Shape{127, 70}, Shape{768, 77}};

void expect_equals_plain_loop(Shape shape, Epilogue epilogue, bool has_bias) {
  const Matrix<float> weight = random_matrix(shape.outputs, shape.inputs, "weight", 0.3F);
  const Matrix<float> biases = random_matrix(1, shape.outputs, "bias");
  const std::span<const float> bias = has_bias ? biases.view().row(0) : std::span<const float>();
  const Linear linear(weight.view(), bias, epilogue, heap());
  for (const Index rows : kRowCounts) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << shape.inputs << " inputs, "
                                    << shape.outputs << " outputs, bias " << has_bias);
    const Matrix<float> x = random_matrix(rows, shape.inputs, "x");
    const Matrix<float> before = random_matrix(rows, shape.outputs, "before");
    Matrix<float> y = copy_of(before.view());
    Operations counted;

    linear(x.view(), y.view(), counted);

    expect_linear(x.view(), weight.view(), bias, epilogue, before.view(), y.view());
  }
}

TEST(Linear, EqualsAPlainLoop) {
  for (const Shape shape : kShapes) {
    expect_equals_plain_loop(shape, {}, true);
    expect_equals_plain_loop(shape, {}, false);
  }
}

TEST(Linear, FusesBothFormsOfGelu) {
  for (const Shape shape : kShapes) {
    expect_equals_plain_loop(shape, {Activation::gelu_erf}, true);
    expect_equals_plain_loop(shape, {Activation::gelu_tanh}, true);
  }
}

TEST(Linear, FusesTheResidualBehindTheActivation) {
  for (const Shape shape : kShapes) {
    expect_equals_plain_loop(shape, {Activation::none, Accumulate::yes}, true);
    expect_equals_plain_loop(shape, {Activation::none, Accumulate::yes}, false);
    expect_equals_plain_loop(shape, {Activation::gelu_erf, Accumulate::yes}, true);
  }
}

TEST(Linear, GeluFollowsItsNameInTheTails) {
  Matrix<float> weight(1, 1), x(4, 1), erf(4, 1), tanh(4, 1);
  weight(0, 0) = 1;
  for (const auto& [row, value] : {std::pair<Index, float>{0, -2}, {1, -4}, {2, 9}, {3, -50}})
    x(row, 0) = value;
  Operations counted;

  Linear(weight.view(), {}, {Activation::gelu_erf}, heap())(x.view(), erf.view(), counted);
  Linear(weight.view(), {}, {Activation::gelu_tanh}, heap())(x.view(), tanh.view(), counted);

  EXPECT_NEAR(erf(0, 0), -0.0455003, 1e-6);  // the two forms differ by 1e-4 here
  EXPECT_NEAR(tanh(0, 0), -0.0454023, 1e-6);
  EXPECT_NEAR(erf(1, 0), -0.000126685, 1e-6);
  EXPECT_NEAR(tanh(1, 0), -0.0000702, 1e-6);
  EXPECT_FLOAT_EQ(erf(2, 0), 9.0F);
  EXPECT_FLOAT_EQ(tanh(2, 0), 9.0F);
  EXPECT_NEAR(erf(3, 0), 0.0, 1e-12);
  EXPECT_NEAR(tanh(3, 0), 0.0, 1e-12);
}

TEST(Linear, TakesRowsOfAStridedWeight) {
  const Matrix<float> wide = random_matrix(12, 40, "wide"), x = random_matrix(5, 17, "x");
  const MatrixView<const float> weight = wide.view().cols(7, 17);
  const Linear linear(weight, {}, {}, heap());
  Matrix<float> y(5, 12);
  Operations counted;

  linear(x.view(), y.view(), counted);

  expect_linear(x.view(), weight, {}, {}, Matrix<float>(5, 12).view(), y.view());
}

TEST(Linear, CountsWhatItDoes) {
  const Matrix<float> weight = random_matrix(5, 3, "weight"), x = random_matrix(7, 3, "x");
  const std::vector<float> bias(5, 1.0F);
  Matrix<float> y(7, 5);
  Operations plain, fused;

  Linear(weight.view(), {}, {}, heap())(x.view(), y.view(), plain);
  Linear(weight.view(), bias, {Activation::gelu_tanh, Accumulate::yes}, heap())(x.view(), y.view(),
                                                                                fused);

  EXPECT_EQ(plain, (Operations{.matmul_macs = 7 * 3 * 5}));
  EXPECT_EQ(fused, (Operations{.matmul_macs = 7 * 3 * 5,
                               .gelu_elements = 35,
                               .residual_elements = 35,
                               .bias_elements = 35}));
}

TEST(Linear, WithoutRowsDoesAndCountsNothing) {
  const Matrix<float> weight = random_matrix(5, 3, "weight");
  const Linear linear(weight.view(), {}, {}, heap());
  Operations counted;

  linear(Matrix<float>(0, 3).view(), Matrix<float>(0, 5).view(), counted);

  EXPECT_EQ(counted, Operations{});
}

TEST(Linear, HoldsPackedBytesInItsMemoryAndNothingLater) {
  TrackingResource memory;
  const Matrix<float> weight = random_matrix(96, 48, "weight");
  const std::vector<float> bias(96, 0.0F);
  const Linear linear(weight.view(), bias, {}, &memory);
  const std::int64_t after_packing = memory.held_bytes();
  Operations counted;

  for (const Index rows : kRowCounts)
    linear(Matrix<float>(rows, 48).view(), Matrix<float>(rows, 96).view(), counted);

  EXPECT_EQ(linear.inputs(), 48);
  EXPECT_EQ(linear.outputs(), 96);
  EXPECT_EQ(linear.packed_bytes(), after_packing);
  EXPECT_GE(linear.packed_bytes(), static_cast<std::int64_t>(sizeof(float)) * (96 * 48 + 96));
  EXPECT_EQ(memory.held_bytes(), after_packing);
  EXPECT_EQ(memory.allocations(), 2);
}

TEST(Linear, GivesItsWeightsBackBitForBit) {
  for (const Shape shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.inputs << " inputs, " << shape.outputs << " outputs");
    const Matrix<float> wide = random_matrix(shape.outputs, shape.inputs + 3, "wide");
    const MatrixView<const float> weight = wide.view().cols(2, shape.inputs);
    const Matrix<float> biases = random_matrix(1, shape.outputs, "bias");
    const std::span<const float> bias = biases.view().row(0);
    const Linear linear(weight, bias, {Activation::gelu_tanh, Accumulate::yes}, heap());
    const Linear bare(weight, {}, {}, heap());

    for (const Linear* packed : {&linear, &bare}) {
      const Matrix<float> unpacked = packed->unpacked();
      ASSERT_EQ(unpacked.rows(), shape.outputs);
      ASSERT_EQ(unpacked.cols(), shape.inputs);
      for (Index o = 0; o < shape.outputs; ++o)
        EXPECT_TRUE(std::ranges::equal(unpacked.view().row(o), weight.row(o))) << "output " << o;
    }
    EXPECT_TRUE(std::ranges::equal(linear.bias(), bias));
    EXPECT_TRUE(bare.bias().empty());
    EXPECT_EQ(linear.epilogue(), (Epilogue{Activation::gelu_tanh, Accumulate::yes}));
    EXPECT_EQ(bare.epilogue(), Epilogue{});
  }
}

/// Pages that can be made read-only, as another rank's weights are.
class Pages {
 public:
  Pages()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(memory_, kBytes); }
  std::pmr::monotonic_buffer_resource from_start() {
    return std::pmr::monotonic_buffer_resource(memory_, kBytes, std::pmr::null_memory_resource());
  }
  void make_read_only() { mprotect(memory_, kBytes, PROT_READ); }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 20U;
  void* memory_;
};

TEST(Linear, AttachReadsTheBytesThatAnotherPacked) {
  for (const Shape shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.inputs << " inputs, " << shape.outputs << " outputs");
    Pages pages;
    auto writer = pages.from_start(), attacher = pages.from_start();
    const Matrix<float> weight = random_matrix(shape.outputs, shape.inputs, "weight");
    const Matrix<float> bias = random_matrix(1, shape.outputs, "bias");
    Matrix<float> unread(shape.outputs, shape.inputs);
    std::ranges::fill(unread.view().elements(), NAN);
    const std::vector<float> unread_bias(static_cast<std::size_t>(shape.outputs), NAN);
    const Epilogue gelu{Activation::gelu_erf};
    const Linear written(weight.view(), bias.view().row(0), gelu, &writer);
    pages.make_read_only();
    const Linear attached(unread.view(), unread_bias, gelu, &attacher, Packing::attach);
    const Matrix<float> x = random_matrix(17, shape.inputs, "x");
    Matrix<float> y(17, shape.outputs), expected(17, shape.outputs);
    Operations counted;

    written(x.view(), expected.view(), counted);
    attached(x.view(), y.view(), counted);

    EXPECT_TRUE(std::ranges::equal(y.view().elements(), expected.view().elements()));
    EXPECT_EQ(attached.packed_bytes(), written.packed_bytes());
  }
}

TEST(Linear, IsSharedBySeveralThreadsAtOnce) {
  const Matrix<float> weight = random_matrix(70, 127, "weight"), x = random_matrix(98, 127, "x");
  const Linear linear(weight.view(), {}, {}, heap());
  constexpr int kThreads = 4, kPasses = 50;
  std::vector<Matrix<float>> results(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        set_threads(1 + t % 2);
        auto& y = results[static_cast<std::size_t>(t)] = Matrix<float>(98, 70);
        Operations counted;
        for (int pass = 0; pass < kPasses; ++pass)
          for (const Index rows : {98, 5, 33 + t}) linear(x.first(rows), y.first(rows), counted);
        linear(x.view(), y.view(), counted);
      });
  }
  for (const Matrix<float>& y : results)
    expect_linear(x.view(), weight.view(), {}, {}, Matrix<float>(98, 70).view(), y.view());
}

TEST(Linear, KeepsWorkingAfterAMoveAndAChangeOfThreads) {
  const Matrix<float> weight = random_matrix(9, 33, "weight"), x = random_matrix(5, 33, "x");
  Linear first(weight.view(), {}, {}, heap());
  const int before = threads();
  Operations counted;

  const Linear second(std::move(first));
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    Matrix<float> y(5, 9);
    second(x.view(), y.view(), counted);
    expect_linear(x.view(), weight.view(), {}, {}, Matrix<float>(5, 9).view(), y.view());
  }
  set_threads(before);
}

TEST(Linear, RefusesStridedOrMisshapenViews) {
  const Matrix<float> weight = random_matrix(4, 6, "weight");
  const Linear linear(weight.view(), {}, {}, heap());
  Matrix<float> wide(3, 9), x(3, 6), y(3, 4);
  Operations counted;

  EXPECT_THROW(linear(wide.view().cols(0, 6), y.view(), counted), Error);
  EXPECT_THROW(linear(x.view(), wide.view().cols(0, 4), counted), Error);
  EXPECT_THROW(linear(x.first(2), y.view(), counted), Error);
  EXPECT_THROW(linear(y.view(), y.view(), counted), Error);
  EXPECT_NO_THROW(linear(wide.view().cols(0, 6).rows(1, 1), y.first(1), counted));
  EXPECT_THROW(Linear(weight.view(), std::vector<float>(5), {}, heap()), Error);
  EXPECT_THROW(Linear(Matrix<float>(0, 6).view(), {}, {}, heap()), Error);
}

}  // namespace
}  // namespace thinwire::ops
