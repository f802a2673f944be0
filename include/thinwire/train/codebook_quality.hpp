#pragma once
#include <functional>
#include <span>
#include <vector>

#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/train/calibration_run.hpp"

namespace thinwire::train {

/// How well one exchange is coded on one level.
struct ExchangeQuality {
  Index exchange = 0;
  int level = 0;
  Index codewords = 0;    ///< K_m
  std::int64_t rows = 0;  ///< that were coded
  double used = 0;        ///< codewords that coded a row, mean over the groups
  /// 2 to the entropy of code use, mean over the groups: K_m when all are used alike.
  double perplexity = 0;
  /// Mean of 1 - cosine of row and codeword (trace), or sum of squared errors over the sum of
  /// squares of the rows (astra).
  double distortion = 0;
};

/// Runs the strategy on every level of `codebooks`, so that a coarse level is judged in the context
/// that it makes itself. Ordered by exchange, then level.
///   source     of the same set, for the codewords
///   on_part    told the part that is done, 0 to 1; may be empty
std::vector<ExchangeQuality> measure_quality(const model::Model& model,
                                             const CalibrationSetting& setting,
                                             const compress::CodebookSet& codebooks,
                                             compress::CodebookSource& source,
                                             std::span<const model::ModelInput> inputs,
                                             const std::function<void(double)>& on_part);

}  // namespace thinwire::train
