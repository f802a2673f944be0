#pragma once
#include <span>
#include <string>
#include <string_view>

#include "thinwire/tensor/matrix.hpp"
#include "thinwire/tensor/safetensors.hpp"
#include "thinwire/train/candidate_rows.hpp"
#include "thinwire/train/kmeans.hpp"

namespace thinwire::train {

/// How a codebook follows the batches after the first (METHODS 3.4).
enum class Update {
  ema,       ///< moving averages of hits and sums; codewords are their quotient
  subspace,  ///< the same in the principal subspace of the first batch, lifted back
  gradient,  ///< steps on the codebook loss
  kmeans,    ///< stays as the first batch's k-means made it
};
Update parse_update(std::string_view name);  // InputError with the known names
std::string_view to_string(Update update);
std::span<const std::string_view> update_names();

/// One codebook in training. Values are fp32, so that a state file keeps them to the bit.
struct CodebookState {
  Matrix<float> codewords;  ///< [K, width]
  Matrix<float> usage;      ///< [1, K], the moving hits n_k
  Matrix<float> sums;       ///< [K, width], the moving sums m_k; [K, axes] along the axes
  Matrix<float> axes;       ///< [axes, width] for Update::subspace, else empty

  /// What k-means found, with the axes of the subspace if there is one.
  static CodebookState from(Clusters clusters, Matrix<float> axes = {});

  void save(SafetensorsWriter& file, const std::string& prefix) const;
  static CodebookState load(const SafetensorsFile& file, const std::string& prefix);
};

inline constexpr double kDecay = 0.99;            ///< alpha of the moving averages
inline constexpr double kLeastUsage = 1;          ///< below it a codeword is re-seeded
inline constexpr double kGradientStepSize = 0.1;  ///< towards the mean of a codeword's rows

/// The most codewords that the next batch can bring below kLeastUsage: how many candidates for
/// re-seeding are to be kept.
Index codewords_at_risk(const CodebookState& state);

/// Follows one batch:
///   ema, subspace   n_k <- a n_k + (1 - a) |S_k|,  m_k <- a m_k + (1 - a) sum of S_k,  c_k = m_k /
///   n_k gradient        c_k <- c_k - step * (c_k - mean of S_k): the gradient of half the mean
///   squared
///                   distance of the codeword's own rows; n_k as above
///   kmeans          nothing
/// Codewords with n_k < kLeastUsage become the best candidates, with n_k = 1.
/// Source: METHODS 3.4.
void follow_batch(CodebookState& state, Update update, const CodeStatistics& batch,
                  const CandidateRows& candidates);

}  // namespace thinwire::train
