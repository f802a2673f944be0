#include "thinwire/harness/capture.hpp"

#include <algorithm>
#include <cstring>

#include "thinwire/base/error.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/strategy/terminal.hpp"

namespace thinwire::harness {
namespace {

/// Keeps what one rank sees of a pass.
class PassObserver final : public strategy::Observer {
 public:
  /// Rows of one hidden state, as global token positions.
  struct Part {
    Slice rows;
    Matrix<float> values;
  };
  /// Of one exchange, in the order of the rows.
  struct Indices {
    std::vector<std::int32_t> values;  ///< [rows * groups]
    Index groups = 1;
  };

  explicit PassObserver(Index layers)
      : parts_(static_cast<std::size_t>(layers) + 1), indices_(static_cast<std::size_t>(layers)) {}

  void on_hidden(Index index, Slice rows, MatrixView<const float> local) override {
    Part& part = parts_.at(static_cast<std::size_t>(index));
    part = {rows, Matrix<float>(local.rows(), local.cols())};
    copy<float>(local, part.values.view());
  }
  /// A terminal codes every device's rows of exchange 0, one device after the other.
  void on_quantised(Index exchange, MatrixView<const float> rows,
                    std::span<const std::int32_t> indices) override {
    Indices& kept = indices_.at(static_cast<std::size_t>(exchange));
    kept.values.insert(kept.values.end(), indices.begin(), indices.end());
    kept.groups = std::ssize(indices) / rows.rows();
  }

  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Indices>& indices() const { return indices_; }

 private:
  std::vector<Part> parts_;       // [layers + 1]
  std::vector<Indices> indices_;  // [layers], by exchange
};

std::span<const std::byte> bytes_of(MatrixView<const float> rows) {
  return rows.size() > 0 ? std::as_bytes(rows.elements()) : std::span<const std::byte>{};
}

/// Ranks' contributions one below the other, on rank 0.
template <class T>
Matrix<T> stack_rows(fabric::Transport& transport, std::span<const std::byte> mine, Index cols) {
  const std::vector<std::vector<std::byte>> all = fabric::gather_all(transport, mine);
  if (transport.rank() != 0) return {};
  std::size_t total = 0;
  for (const auto& part : all) total += part.size();
  Matrix<T> stacked(static_cast<Index>(total / sizeof(T)) / cols, cols);
  auto* out = reinterpret_cast<std::byte*>(stacked.view().data());
  for (const auto& part : all) out = std::ranges::copy(part, out).out;
  return stacked;
}

/// Every rank's rows in their places [tokens, cols], on rank 0. Of rows that several ranks hold the
/// lowest rank's are taken.
Matrix<float> place_rows(fabric::Transport& transport, const PassObserver::Part& mine, Index tokens,
                         Index cols) {
  const auto slices = fabric::gather_all(transport, std::as_bytes(std::span(&mine.rows, 1)));
  const auto values = fabric::gather_all(transport, bytes_of(mine.values.view()));
  if (transport.rank() != 0) return {};
  Matrix<float> placed(tokens, cols);
  for (std::size_t rank = slices.size(); rank-- > 0;) {
    Slice rows;
    std::memcpy(&rows, slices[rank].data(), sizeof(rows));
    if (values[rank].empty()) continue;
    TW_REQUIRE(rows.end() <= tokens, "rank {} shows rows up to {} of {}", rank, rows.end(), tokens);
    std::memcpy(placed.view().row(rows.begin).data(), values[rank].data(), values[rank].size());
  }
  return placed;
}

/// Of every exchange; an empty matrix where nothing was sent as indices.
std::vector<Matrix<std::int32_t>> gather_indices(fabric::Transport& transport,
                                                 const PassObserver& observer) {
  std::vector<Matrix<std::int32_t>> exchanges;
  for (const PassObserver::Indices& mine : observer.indices()) {
    const auto groups = fabric::gather_all(transport, std::as_bytes(std::span(&mine.groups, 1)));
    Index most = 1;
    for (const auto& bytes : groups) {
      Index count = 0;
      std::memcpy(&count, bytes.data(), sizeof(count));
      most = std::max(most, count);
    }
    exchanges.push_back(
        stack_rows<std::int32_t>(transport, std::as_bytes(std::span(mine.values)), most));
  }
  return exchanges;
}

}  // namespace

Capture capture_pass(const model::Model& model, strategy::Strategy& strategy,
                     fabric::Transport& transport, fabric::Fabric& fabric,
                     const model::ModelInput& input) {
  PassObserver observer(model.config().layers);
  fabric.begin_iteration();
  const strategy::Output output = strategy.forward(input, fabric, &observer);
  fabric.end_iteration();

  Capture capture;
  transport.meet();
  capture.values =
      stack_rows<float>(transport, bytes_of(output.values), strategy::answer_width(model.config()));
  const Index tokens = input.tokens(model.config());
  for (const PassObserver::Part& part : observer.parts())
    capture.hidden.push_back(place_rows(transport, part, tokens, model.config().hidden));
  capture.indices = gather_indices(transport, observer);
  return capture;
}

Capture capture_single(const model::Model& model, const model::ModelInput& input, int threads) {
  ops::set_threads(threads);
  const auto transport = fabric::make_solo_transport();
  const auto fabric = fabric::make_fabric(*transport, {});
  const auto single = strategy::make_strategy(
      "single", model, {}, {.threads = threads, .lengths = {input.tokens(model.config())}});
  return capture_pass(model, *single, *transport, *fabric, input);
}

}  // namespace thinwire::harness
