#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/strategy/strategy.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::test {

/// A model of tests/data/golden/models, packed on the heap.
inline model::Model load_model(const std::filesystem::path& folder, DType dtype = DType::fp32) {
  model::Checkpoint checkpoint = model::open_checkpoint(folder);
  return {checkpoint.config,
          *checkpoint.weights,
          {std::pmr::new_delete_resource(), ops::Packing::write, dtype}};
}

/// Runs `work(transport)` on `devices` threads of this process; the first exception is rethrown.
inline void on_devices(int devices, const std::function<void(fabric::Transport&)>& work) {
  const auto transports = fabric::make_local_transports(devices);
  std::vector<std::exception_ptr> errors(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < transports.size(); ++p)
    threads.emplace_back([&, p] {
      ops::set_threads(1);
      try {
        work(*transports[p]);
      } catch (...) {
        errors[p] = std::current_exception();
        fabric::abandon(*transports[p]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

/// Rows that one device sent as indices in one exchange.
struct Quantised {
  Matrix<float> rows;
  std::vector<std::int32_t> indices;  ///< [rows * groups]
};

/// What a pass left behind, put together from all devices in global order.
struct PassResult {
  Matrix<float> values;                  ///< logits or embedding
  std::vector<Matrix<float>> hidden;     ///< [layers + 1] of [N, D]
  std::vector<Matrix<float>> published;  ///< [exchange] of all devices' rows, device after device
  std::vector<std::vector<std::vector<std::byte>>> payloads;  ///< [exchange][device]
  std::vector<std::vector<Quantised>> quantised;              ///< [exchange][device]
  std::vector<fabric::DeviceIteration> iterations;            ///< one a device
  std::vector<std::int64_t> workspace_bytes;                  ///< held by each device

  /// All devices' rows that were sent as indices in an exchange, in token order.
  Matrix<float> quantised_rows(Index exchange) const {
    const std::vector<Quantised>& parts = quantised[static_cast<std::size_t>(exchange)];
    Index count = 0;
    for (const Quantised& part : parts) count += part.rows.rows();
    Matrix<float> rows(count, parts[0].rows.cols());
    Index begin = 0;
    for (const Quantised& part : parts) {
      copy<float>(part.rows.view(), rows.view().rows(begin, part.rows.rows()));
      begin += part.rows.rows();
    }
    return rows;
  }
  std::vector<std::int32_t> quantised_indices(Index exchange) const {
    std::vector<std::int32_t> indices;
    for (const Quantised& part : quantised[static_cast<std::size_t>(exchange)])
      indices.insert(indices.end(), part.indices.begin(), part.indices.end());
    return indices;
  }
};

/// Collects one device's rows into the shared result; devices write disjoint rows.
class Collector final : public strategy::Observer {
 public:
  Collector(PassResult& result, int device, int devices)
      : result_(result), device_(device), devices_(devices) {}
  void on_hidden(Index index, Slice rows, MatrixView<const float> local) override {
    copy<float>(local,
                result_.hidden[static_cast<std::size_t>(index)].view().rows(rows.begin, rows.size));
  }
  void on_published(Index exchange, std::span<const std::byte> payload) override {
    at(result_.payloads, exchange).assign(payload.begin(), payload.end());
    Matrix<float>& all = result_.published[static_cast<std::size_t>(exchange)];
    const Index rows = all.rows() / devices_;
    if (static_cast<std::size_t>(rows * all.cols()) * sizeof(float) != payload.size()) return;
    std::memcpy(all.view().rows(device_ * rows, rows).data(), payload.data(), payload.size());
  }
  void on_quantised(Index exchange, MatrixView<const float> rows,
                    std::span<const std::int32_t> indices) override {
    Quantised& quantised = at(result_.quantised, exchange);
    quantised.rows = Matrix<float>(rows.rows(), rows.cols());
    copy(rows, quantised.rows.view());
    quantised.indices.assign(indices.begin(), indices.end());
  }

 private:
  template <class T>
  T& at(std::vector<std::vector<T>>& all, Index exchange) const {
    return all[static_cast<std::size_t>(exchange)][static_cast<std::size_t>(device_)];
  }

  PassResult& result_;
  int device_, devices_;
};

/// One pass of `input` over `devices` threads, after `warmup` others, for strategies that learn.
/// `published_rows` a device sizes `published`.
inline PassResult run_pass(const model::Model& model, std::string_view strategy, int devices,
                           const strategy::StrategyOptions& options, const model::ModelInput& input,
                           Index published_rows = 0,
                           const fabric::FabricOptions& fabric_options = {}, int warmup = 0) {
  const model::ModelConfig& config = model.config();
  const Index tokens = input.tokens(config);
  PassResult result;
  for (Index l = 0; l <= config.layers; ++l) result.hidden.emplace_back(tokens, config.hidden);
  for (Index l = 0; l < config.layers; ++l)
    result.published.emplace_back(devices * published_rows, config.hidden);
  result.payloads.resize(static_cast<std::size_t>(config.layers));
  result.quantised.resize(static_cast<std::size_t>(config.layers));
  for (auto& parts : result.payloads) parts.resize(static_cast<std::size_t>(devices));
  for (auto& parts : result.quantised) parts.resize(static_cast<std::size_t>(devices));
  result.iterations.resize(static_cast<std::size_t>(devices));
  result.workspace_bytes.resize(static_cast<std::size_t>(devices));
  if (config.head == model::HeadKind::language_model)
    result.values = Matrix<float>(tokens, config.vocabulary);

  on_devices(devices, [&](fabric::Transport& transport) {
    TrackingResource memory;
    const auto device = static_cast<std::size_t>(transport.rank());
    const auto runner = strategy::make_strategy(strategy, model, options,
                                                {transport.rank(), devices, 1, {tokens}, &memory});
    const auto fabric = fabric::make_fabric(transport, fabric_options);
    Collector collector(result, transport.rank(), devices);
    for (int i = 0; i < warmup; ++i) {
      fabric->begin_iteration();
      runner->forward(input, *fabric);
      fabric->end_iteration();
    }
    fabric->begin_iteration();
    const strategy::Output output = runner->forward(input, *fabric, &collector);
    result.iterations[device] = fabric->end_iteration();
    result.workspace_bytes[device] = memory.held_bytes();
    if (output.values.size() == 0) return;
    if (output.rows.size > 0) {
      copy<float>(output.values, result.values.view().rows(output.rows.begin, output.rows.size));
    } else {
      result.values = Matrix<float>(1, output.values.cols());
      copy<float>(output.values, result.values.view());
    }
  });
  return result;
}

}  // namespace thinwire::test
