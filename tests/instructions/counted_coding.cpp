#include <array>
#include <vector>

#include "counting.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/compress/codebook.hpp"
#include "thinwire/compress/index_frame.hpp"
#include "thinwire/compress/kv_buffer.hpp"
#include "thinwire/compress/segment_means.hpp"

namespace thinwire::instructions {
namespace {

constexpr Index kRows = 99, kHidden = 120, kSegments = 10, kCodewords = 64;

Matrix<float> random_matrix(Index rows, Index cols, const char* name) {
  Matrix<float> matrix(rows, cols);
  RandomStream(name, 0).fill_symmetric(matrix.view().elements(), 1.0F);
  return matrix;
}

}  // namespace

void count_coding(const Plan& plan) {
  const Matrix<float> rows = random_matrix(kRows, kHidden, "rows");
  Matrix<float> means(kSegments, kHidden), looked_up(kRows, kHidden), kv(kRows, 2 * kHidden);
  std::vector<std::int32_t> indices;
  for (Index i = 0; i < kRows; ++i)
    indices.push_back(static_cast<std::int32_t>(i * 29 % kCodewords));

  count("segment means", plan, [&] { compress::segment_means(rows.view(), {}, means.view()); });

  const compress::FrameFormat format{.bits = compress::index_bits(kCodewords),
                                     .codewords = kCodewords};
  std::vector<std::byte> frame(
      static_cast<std::size_t>(compress::frame_size(kRows, format.bits, true).bytes()));
  count("pack indices", plan, [&] { compress::pack_indices(indices, format, frame); });
  count("unpack indices", plan, [&] { compress::unpack_indices(frame, format, 0, indices); });

  const std::array groups{random_matrix(kCodewords, kHidden, "codewords")};
  const compress::Codebook codebook(groups, ops::Similarity::cosine, std::array{kCodewords},
                                    compress::Dequantise::yes, {std::pmr::new_delete_resource()});
  Matrix<float> scratch(1, codebook.scratch_floats(kRows, 0));
  Operations counted;
  count("nearest codewords", plan,
        [&] { codebook.nearest(rows.view(), 0, scratch.view().elements(), indices, counted); });
  count("codebook lookup", plan, [&] { codebook.lookup(indices, looked_up.view()); });

  const compress::KvBuffer buffer(kCodewords, 2 * kHidden, std::pmr::new_delete_resource());
  count("kv buffer", plan, [&] { buffer.gather(indices, kv.view()); });
}

}  // namespace thinwire::instructions
