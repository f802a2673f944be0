#include "thinwire/harness/capture.hpp"

#include "thinwire/ops/runtime.hpp"

namespace thinwire::harness {
namespace {

/// Keeps the local rows of every hidden state.
class HiddenRows final : public strategy::Observer {
 public:
  explicit HiddenRows(Index states) : states_(static_cast<std::size_t>(states)) {}
  void on_hidden(Index index, Slice /*rows*/, MatrixView<const float> local) override {
    Matrix<float>& state = states_[static_cast<std::size_t>(index)];
    state = Matrix<float>(local.rows(), local.cols());
    copy<float>(local, state.view());
  }
  const std::vector<Matrix<float>>& states() const { return states_; }

 private:
  std::vector<Matrix<float>> states_;
};

/// Devices' rows one below the other (slices tile the sequence in device order), on device 0.
Matrix<float> stack_rows(fabric::Transport& transport, MatrixView<const float> local, Index cols) {
  const auto bytes =
      local.size() > 0 ? std::as_bytes(local.elements()) : std::span<const std::byte>{};
  const std::vector<std::vector<std::byte>> all = fabric::gather_all(transport, bytes);
  if (transport.rank() != 0) return {};
  std::size_t total = 0;
  for (const auto& part : all) total += part.size();
  Matrix<float> stacked(static_cast<Index>(total / sizeof(float)) / cols, cols);
  auto* out = reinterpret_cast<std::byte*>(stacked.view().data());
  for (const auto& part : all) out = std::ranges::copy(part, out).out;
  return stacked;
}

Index value_columns(const model::ModelConfig& config) {
  switch (config.head) {
    case model::HeadKind::language_model:
      return config.vocabulary;
    case model::HeadKind::mean_pooling:
      return config.hidden;
    case model::HeadKind::class_token:
    case model::HeadKind::pooler:
      break;
  }
  return config.labels;
}

}  // namespace

Capture capture_pass(const model::Model& model, strategy::Strategy& strategy,
                     fabric::Transport& transport, fabric::Fabric& fabric,
                     const model::ModelInput& input) {
  HiddenRows rows(model.config().layers + 1);
  fabric.begin_iteration();
  const strategy::Output output = strategy.forward(input, fabric, &rows);
  fabric.end_iteration();

  Capture capture;
  transport.meet();
  capture.values = stack_rows(transport, output.values, value_columns(model.config()));
  for (const Matrix<float>& state : rows.states())
    capture.hidden.push_back(stack_rows(transport, state.view(), model.config().hidden));
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
