#include <limits>
#include <span>
#include <utility>

#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/share.hpp"
#include "thinwire/cost/work.hpp"
#include "thinwire/cost/workload.hpp"

namespace thinwire::cost {
namespace {

constexpr std::int64_t kBytesPerValue = 4;  // payloads are fp32

/// What the devices do between two exchanges; vectors of [P].
struct Stages {
  std::vector<Operations> embedding, block, head;
};

Stages make_stages(const model::ModelConfig& model, std::span<const Share> shares) {
  Stages stages;
  for (int p = 0; p < std::ssize(shares); ++p) {
    const Share& share = shares[static_cast<std::size_t>(p)];
    stages.embedding.push_back(embedding_work(model, share, p));
    stages.block.push_back(block_work(model, share));
    stages.head.push_back(head_work(model, share, p));
  }
  return stages;
}

std::vector<Operations> sum(std::vector<Operations> a, std::span<const Operations> b) {
  for (std::size_t p = 0; p < a.size(); ++p) a[p] += b[p];
  return a;
}

std::vector<Operations> none(std::size_t devices) {
  return std::vector<Operations>(devices);
}

ScheduledExchange block_exchange(std::span<const Share> shares, Index hidden,
                                 std::vector<Operations> before) {
  ScheduledExchange exchange{
      ScheduledExchange::Kind::all_gather, {}, std::move(before), none(shares.size())};
  for (const Share& share : shares)
    exchange.bytes.push_back(share.published * hidden * kBytesPerValue);
  return exchange;
}

/// Mean pooling: device 0 collects the partial sums of the others.
ScheduledExchange pooling_exchange(std::size_t devices, Index hidden,
                                   std::vector<Operations> before) {
  ScheduledExchange exchange{ScheduledExchange::Kind::gather, {}, std::move(before), none(devices)};
  exchange.bytes.assign(devices, hidden * kBytesPerValue);
  exchange.bytes.front() = 0;
  return exchange;
}

/// Puts the stages between the exchanges. These strategies wait as soon as they have published,
/// hence empty windows.
void schedule(const model::ModelConfig& model, std::span<const Share> shares, const Stages& stages,
              Prediction& prediction) {
  prediction.tail = stages.embedding;
  const bool has_peers = shares.size() > 1;
  for (Index layer = 0; layer < model.layers; ++layer) {
    if (has_peers) {
      prediction.exchanges.push_back(block_exchange(shares, model.hidden, prediction.tail));
      prediction.tail = none(shares.size());
    }
    prediction.tail = sum(std::move(prediction.tail), stages.block);
  }
  if (has_peers && model.head == model::HeadKind::mean_pooling) {
    prediction.exchanges.push_back(pooling_exchange(shares.size(), model.hidden, prediction.tail));
    prediction.tail = none(shares.size());
  }
  prediction.tail = sum(std::move(prediction.tail), stages.head);
}

/// What the devices do and send in total, from the schedule.
void add_up(Prediction& prediction) {
  const std::size_t devices = prediction.tail.size();
  prediction.device_operations = prediction.tail;
  for (auto* traffic : {&prediction.payload_bits, &prediction.header_bits, &prediction.padding_bits,
                        &prediction.wire_bytes})
    traffic->assign(devices, 0);
  for (const ScheduledExchange& exchange : prediction.exchanges) {
    prediction.device_operations =
        sum(sum(std::move(prediction.device_operations), exchange.before), exchange.window);
    for (std::size_t p = 0; p < devices; ++p) {
      prediction.payload_bits[p] += 8 * exchange.bytes[p];
      prediction.wire_bytes[p] += exchange.bytes[p];
    }
  }
}

/// The papers' figures (ACCOUNTING 2). One device alone sends nothing, and a rate of nothing to
/// nothing has no meaning.
void add_nominal_figures(const Workload& workload, double nominal_tokens, Prediction& prediction) {
  const Index peers = workload.devices - 1;
  if (peers == 0) {
    prediction.compression_rate = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  const Index layers = workload.model.layers;
  const double bits = 32 * static_cast<double>(workload.model.hidden) * nominal_tokens;
  const double uncompressed = static_cast<double>(workload.tokens) / workload.devices;
  prediction.nominal_exchanges = layers;
  prediction.compression_rate = uncompressed / nominal_tokens;
  prediction.nominal_bits_per_exchange = bits;
  prediction.nominal_bits_first_exchange = bits;
  prediction.nominal_bits_per_inference = bits + static_cast<double>(layers - 1) * bits;
  prediction.pdplc_tokens = static_cast<double>(peers) * nominal_tokens;
}

}  // namespace

Prediction predict(const Workload& workload) {
  const Plan plan = make_plan(workload);
  Prediction prediction;
  schedule(workload.model, plan.shares, make_stages(workload.model, plan.shares), prediction);
  add_up(prediction);
  add_nominal_figures(workload, plan.nominal_tokens, prediction);
  for (int p = 0; p < workload.devices; ++p)
    prediction.memory.push_back(
        {.weights = weights_bytes(workload.model, workload.tokens),
         .buffers = 0,
         .activations = activations_bytes(workload, plan.shares[static_cast<std::size_t>(p)], p)});
  return prediction;
}

std::int64_t Prediction::total_flops(Convention convention) const {
  std::int64_t total = 0;
  for (const Operations& operations : device_operations) total += flops(operations, convention);
  return total;
}

}  // namespace thinwire::cost
