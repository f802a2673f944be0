#include <gtest/gtest.h>

#include <vector>

#include "ops/matrices.hpp"
#include "support/allocation_counter.hpp"
#include "thinwire/ops/attention.hpp"
#include "thinwire/ops/layer_norm.hpp"
#include "thinwire/ops/linear.hpp"

namespace thinwire::ops {
namespace {

using test::allocations;
using test::random_matrix;

std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

TEST(Allocations, AreCounted) {
  const std::int64_t before = allocations();

  const Matrix<float> one(3, 5);
  const std::vector<int> another(7);

  EXPECT_EQ(allocations() - before, 2);
}

TEST(Allocations, LinearMakesNoneOnceARowCountIsKnown) {
  const Matrix<float> weight = random_matrix(96, 48, "weight"), x = random_matrix(17, 48, "x");
  const Matrix<float> bias = random_matrix(1, 96, "bias");
  const Linear linear(weight.view(), bias.view().row(0), {Activation::gelu_erf}, heap());
  Matrix<float> y(17, 96);
  Operations counted;
  for (const Index rows : {17, 5}) linear(x.first(rows), y.first(rows), counted);
  const std::int64_t before = allocations();

  for (int pass = 0; pass < 3; ++pass)
    for (const Index rows : {17, 5}) linear(x.first(rows), y.first(rows), counted);

  EXPECT_EQ(allocations() - before, 0);
}

TEST(Allocations, AttentionAndLayerNormMakeNoneOnceAShapeIsKnown) {
  const Index hidden = 48, columns = 23, rows = 17;
  const Matrix<float> query = random_matrix(rows, hidden, "query");
  KvContext context(columns, hidden, heap());
  Attention attend(3, 16, Mask::none, rows, columns, 2, heap());
  const std::vector<float> ones(48, 1.0F), zeros(48, 0.0F), log_counts(columns, 0.0F);
  const std::vector<std::int32_t> last(columns, 0);
  const LayerNorm normalise(ones, zeros, 1e-6F, heap());
  Matrix<float> output(rows, hidden);
  Operations counted;
  const auto pass = [&] {
    context.clear();
    context.append(log_counts, last);
    attend(query.view(), context, {}, output.view(), counted);
    normalise(output.view(), output.view(), counted);
  };
  pass();
  const std::int64_t before = allocations();

  pass();

  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace thinwire::ops
