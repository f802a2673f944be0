#include "thinwire/train/codebook_state.hpp"

#include <algorithm>
#include <array>

#include "thinwire/base/text.hpp"
#include "thinwire/train/principal_axes.hpp"

namespace thinwire::train {
namespace {

constexpr std::array<std::string_view, 4> kUpdateNames = {"ema", "subspace", "gradient", "kmeans"};

Matrix<float> narrowed(MatrixView<const double> values) {
  Matrix<float> out(values.rows(), values.cols());
  std::ranges::transform(values.elements(), out.view().elements().begin(),
                         [](double value) { return static_cast<float>(value); });
  return out;
}

/// a old + (1 - a) seen, rounded once.
float decayed(float old, double seen) {
  return static_cast<float>(kDecay * double{old} + (1 - kDecay) * seen);
}

void follow_counts(CodebookState& state, const CodeStatistics& batch) {
  for (Index k = 0; k < state.usage.cols(); ++k)
    state.usage(0, k) = decayed(state.usage(0, k), batch.counts[static_cast<std::size_t>(k)]);
}

void follow_sums(CodebookState& state, const CodeStatistics& batch) {
  const auto follow = [&state](const auto& seen) {
    std::ranges::transform(state.sums.view().elements(), seen.view().elements(),
                           state.sums.view().elements().begin(),
                           [](float old, double value) { return decayed(old, value); });
  };
  if (state.axes.rows() == 0) return follow(batch.sums);
  const Matrix<float> seen =
      project(narrowed(batch.sums.view()).view(), std::as_const(state.axes).view());
  follow(seen);
}

void step_towards_means(CodebookState& state, const CodeStatistics& batch) {
  for (Index k = 0; k < state.codewords.rows(); ++k) {
    const double count = batch.counts[static_cast<std::size_t>(k)];
    if (count == 0) continue;
    for (Index c = 0; c < state.codewords.cols(); ++c) {
      const double codeword = state.codewords(k, c);
      const double gradient = codeword - batch.sums(k, c) / count;
      state.codewords(k, c) = static_cast<float>(codeword - kGradientStepSize * gradient);
    }
  }
}

/// c_k = m_k / n_k, lifted where the sums are those of a subspace. A codeword that no row ever hit
/// stays as it is.
void set_quotients(CodebookState& state) {
  Matrix<float> means(state.sums.rows(), state.sums.cols());
  for (Index k = 0; k < means.rows(); ++k)
    for (Index c = 0; c < means.cols(); ++c)
      means(k, c) = state.usage(0, k) > 0 ? state.sums(k, c) / state.usage(0, k) : 0;
  if (state.axes.rows() > 0)
    means = lift(std::as_const(means).view(), std::as_const(state.axes).view());
  for (Index k = 0; k < means.rows(); ++k)
    if (state.usage(0, k) > 0)
      std::ranges::copy(means.view().row(k), state.codewords.view().row(k).begin());
}

void set_codeword(CodebookState& state, Index k, const std::vector<float>& row) {
  state.usage(0, k) = 1;
  std::ranges::copy(row, state.codewords.view().row(k).begin());
  if (state.axes.rows() == 0) {
    std::ranges::copy(row, state.sums.view().row(k).begin());
    return;
  }
  const MatrixView<const float> rows(row.data(), 1, std::ssize(row));
  const Matrix<float> coordinates = project(rows, std::as_const(state.axes).view());
  std::ranges::copy(coordinates.view().row(0), state.sums.view().row(k).begin());
}

void reseed(CodebookState& state, const CandidateRows& candidates) {
  const std::vector<CandidateRows::Row> rows = candidates.best();
  auto row = rows.begin();
  for (Index k = 0; k < state.usage.cols() && row != rows.end(); ++k)
    if (state.usage(0, k) < kLeastUsage) set_codeword(state, k, (row++)->values);
}

void add(SafetensorsWriter& file, const std::string& name, const Matrix<float>& matrix) {
  file.add(name, {matrix.rows(), matrix.cols()}, matrix.view().elements());
}

Matrix<float> read(const SafetensorsFile& file, const std::string& name) {
  const TensorView& tensor = file.at(name);
  require_input(tensor.shape.size() == 2, "{}: {} is no matrix", file.path().string(), name);
  Matrix<float> matrix(tensor.shape[0], tensor.shape[1]);
  widen(tensor, 0, matrix.view().elements());
  return matrix;
}

}  // namespace

Update parse_update(std::string_view name) {
  return static_cast<Update>(name_index("update", name, kUpdateNames));
}

std::string_view to_string(Update update) {
  return kUpdateNames[static_cast<std::size_t>(update)];
}

std::span<const std::string_view> update_names() {
  return kUpdateNames;
}

CodebookState CodebookState::from(Clusters clusters, Matrix<float> axes) {
  CodebookState state;
  state.usage = Matrix<float>(1, clusters.codewords.rows());
  std::ranges::transform(clusters.statistics.counts, state.usage.view().elements().begin(),
                         [](double count) { return static_cast<float>(count); });
  state.sums = narrowed(clusters.statistics.sums.view());
  state.codewords = std::move(clusters.codewords);
  if (axes.rows() == 0) return state;
  state.axes = std::move(axes);
  state.sums = project(std::as_const(state.sums).view(), std::as_const(state.axes).view());
  set_quotients(state);
  return state;
}

void CodebookState::save(SafetensorsWriter& file, const std::string& prefix) const {
  add(file, prefix + ".codewords", codewords);
  add(file, prefix + ".usage", usage);
  add(file, prefix + ".sums", sums);
  if (axes.rows() > 0) add(file, prefix + ".axes", axes);
}

CodebookState CodebookState::load(const SafetensorsFile& file, const std::string& prefix) {
  CodebookState state{read(file, prefix + ".codewords"),
                      read(file, prefix + ".usage"),
                      read(file, prefix + ".sums"),
                      {}};
  if (file.has(prefix + ".axes")) state.axes = read(file, prefix + ".axes");
  return state;
}

Index codewords_at_risk(const CodebookState& state) {
  return std::ranges::count_if(state.usage.view().elements(), [](float usage) {
    return decayed(usage, 0) < static_cast<float>(kLeastUsage);
  });
}

void follow_batch(CodebookState& state, Update update, const CodeStatistics& batch,
                  const CandidateRows& candidates) {
  if (update == Update::kmeans) return;
  follow_counts(state, batch);
  if (update == Update::gradient) {
    step_towards_means(state, batch);
  } else {
    follow_sums(state, batch);
    set_quotients(state);
  }
  reseed(state, candidates);
}

}  // namespace thinwire::train
