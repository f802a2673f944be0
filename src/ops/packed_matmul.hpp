#pragma once
#include <compare>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "onednn.hpp"
#include "recent_map.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::ops {

/// Products of any number of rows with one packed weight matrix [inputs, outputs]. A primitive is
/// kept for every (rows, threads), since oneDNN bakes both into it; of many row counts those used
/// last.
class PackedMatmul {
 public:
  /// `weights` and `bias` (empty for none) borrow bytes that outlive this object. The layout of
  /// `weights` may be any: a row count that has no fast kernel for it gets a reordered copy.
  PackedMatmul(dnnl::memory weights, dnnl::memory bias, Epilogue epilogue);

  /// The layout to pack [inputs, outputs] weights in: what oneDNN chooses for some 128 rows.
  static onednn::Layout preferred_layout(Index inputs, Index outputs, bool has_bias,
                                         Epilogue epilogue, DType dtype = DType::fp32);

  /// x [rows, inputs] of the weights' type   y [rows, outputs] fp32   both dense. Any thread may
  /// call at any time.
  void operator()(const void* x, float* y, Index rows) const;

  /// Weights that were reordered because a row count wanted another layout.
  std::size_t copies() const;
  /// Row and thread counts that a primitive is kept for.
  std::size_t kept() const;
  /// At most; 6 KiB each, and once more for all layers of a shape 60 KiB of generated code.
  static constexpr std::size_t kMostKept = 256;

 private:
  struct Key {
    Index rows;
    int threads;
    auto operator<=>(const Key&) const = default;
  };
  struct Prepared {
    onednn::MatmulPlan plan;
    dnnl::matmul primitive;
    dnnl::memory weights;
    std::mutex mutex;
    std::vector<std::unique_ptr<onednn::BoundMatmul>> idle;  // guarded by mutex
  };
  struct Copy {
    Matrix<std::byte> bytes;
    dnnl::memory memory;
  };
  using Lease = std::unique_ptr<onednn::BoundMatmul>;

  std::shared_ptr<Prepared> prepared(Index rows) const;
  std::shared_ptr<Prepared> prepare(Index rows) const;
  dnnl::memory weights_as(const onednn::Layout& layout, Index rows) const;
  Lease borrow_bound(Prepared& from) const;
  void give_back(Prepared& to, Lease bound) const;

  dnnl::memory weights_, bias_;
  Epilogue epilogue_;
  mutable std::shared_mutex mutex_;  // guards the two containers, not what they point to
  mutable RecentMap<Key, std::shared_ptr<Prepared>> prepared_{kMostKept};
  mutable std::vector<Copy> copies_;
};

}  // namespace thinwire::ops
