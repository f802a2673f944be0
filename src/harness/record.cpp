#include "thinwire/harness/record.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "record_parts.hpp"

namespace thinwire::harness {
namespace {

using cost::Prediction;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

/// Inputs that one sequence of an iteration answers: a pipeline's micro-batches, else 1.
int inputs_of(const Result& result) {
  return result.predictions.empty() ? 1 : result.predictions.front().inputs;
}

/// Of one input; all of an iteration are equal.
std::int64_t per_input(std::int64_t count, int inputs) {
  TW_REQUIRE(count % inputs == 0, "{} are counted for {} equal inputs", count, inputs);
  return count / inputs;
}

std::vector<std::int64_t> per_input(std::vector<std::int64_t> counts, int inputs) {
  for (std::int64_t& count : counts) count = per_input(count, inputs);
  return counts;
}

Operations per_input(Operations o, int inputs) {
  for (std::int64_t Operations::*kind :
       {&Operations::matmul_macs, &Operations::layer_norm_elements, &Operations::softmax_elements,
        &Operations::gelu_elements, &Operations::residual_elements, &Operations::bias_elements})
    o.*kind = per_input(o.*kind, inputs);
  return o;
}

/// The formula's count of every device, over the sequences of an iteration.
std::vector<Operations> predicted_operations(const std::vector<Prediction>& sequences) {
  std::vector<Operations> sum;
  for (const Prediction& sequence : sequences) {
    sum.resize(sequence.device_operations.size());
    for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += sequence.device_operations[p];
  }
  return sum;
}

Operations predicted_terminal_operations(const std::vector<Prediction>& sequences) {
  Operations sum;
  for (const Prediction& sequence : sequences) sum += sequence.terminal_operations;
  return sum;
}

std::int64_t predicted_terminal_bytes(const std::vector<Prediction>& sequences) {
  std::int64_t sum = 0;
  for (const Prediction& sequence : sequences) sum += sequence.terminal_wire_bytes;
  return sum;
}

/// The formula's bits of every device, over the sequences of an iteration.
std::vector<std::int64_t> predicted_bits(const std::vector<Prediction>& sequences,
                                         std::vector<std::int64_t> Prediction::*kind) {
  std::vector<std::int64_t> sum;
  for (const Prediction& sequence : sequences) {
    const std::vector<std::int64_t>& bits = sequence.*kind;
    sum.resize(bits.size());
    for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += bits[p];
  }
  return sum;
}

std::vector<std::int64_t> counted_bits(const std::vector<fabric::Traffic>& traffic,
                                       std::int64_t fabric::Traffic::*kind) {
  std::vector<std::int64_t> bits;
  for (const fabric::Traffic& device : traffic) bits.push_back(device.*kind);
  return bits;
}

Json spec_section(const Result& result) {
  Json spec = to_json(result.spec);
  // The length that was really used; a pair has two and keeps what the spec said.
  if (result.tokens.size() == 1) spec["tokens"] = result.tokens.front();
  // Of the first sequence; an id does without, since they follow from the rest.
  if (!result.spec.rows.empty()) spec["rows"] = result.spec.rows;
  spec["model-fingerprint"] = or_null(result.model_fingerprint);
  if (!result.spec.data.empty()) spec["data-fingerprint"] = or_null(result.data_fingerprint);
  return spec;
}

/// What was counted, else what the formula says; null without a terminal.
Json terminal_flops(const Result& result) {
  if (!result.spec.has_terminal()) return nullptr;
  const Operations operations =
      result.terminal_operations.value_or(predicted_terminal_operations(result.predictions));
  return flops(per_input(operations, inputs_of(result)), result.spec.convention);
}

/// By formula; null where a strategy has no blocks of one kind (tensor, pipeline).
Json block_flops(const Result& result) {
  Operations sum;
  for (const Prediction& sequence : result.predictions) sum += sequence.block_operations;
  return sum == Operations{} ? Json(nullptr) : Json(flops(sum, result.spec.convention));
}

Json operations_section(const Result& result) {
  const std::vector<Operations> devices =
      result.operations.empty() ? predicted_operations(result.predictions) : result.operations;
  if (devices.empty()) return nullptr;
  const Convention convention = result.spec.convention;
  Operations sum;
  Json device_flops = Json::array();
  for (const Operations& device : devices) {
    const Operations of_input = per_input(device, inputs_of(result));
    sum += of_input;
    device_flops.push_back(flops(of_input, convention));
  }
  const std::int64_t total = flops(sum, convention);
  return {{"convention", to_string(convention)},
          {"total_flops", total},
          {"per_device_flops", static_cast<double>(total) / static_cast<double>(devices.size())},
          {"device_flops", std::move(device_flops)},
          {"terminal_flops", terminal_flops(result)},
          {"block_flops", block_flops(result)},
          {"by_kind",
           {{"matmul_macs", sum.matmul_macs},
            {"layer_norm_elements", sum.layer_norm_elements},
            {"softmax_elements", sum.softmax_elements},
            {"gelu_elements", sum.gelu_elements},
            {"residual_elements", sum.residual_elements},
            {"bias_elements", sum.bias_elements}}}};
}

/// The papers' figures of an iteration: sums over its sequences where a figure is "per inference",
/// means where it is "per layer" or "per exchange".
struct Nominal {
  double pdplc_tokens = 0, compression_rate = 0;
  double bits_per_exchange = 0, bits_first_exchange = 0, bits_per_inference = 0;
  std::int64_t exchanges = 0;
};

Nominal nominal(const std::vector<Prediction>& sequences) {
  const auto count = static_cast<double>(sequences.size());
  Nominal sum;
  double uncompressed_tokens = 0;
  for (const Prediction& sequence : sequences) {
    sum.pdplc_tokens += sequence.pdplc_tokens / count;
    uncompressed_tokens += sequence.compression_rate * sequence.pdplc_tokens / count;
    sum.bits_per_exchange += sequence.nominal_bits_per_exchange / count;
    sum.bits_first_exchange += sequence.nominal_bits_first_exchange / count;
    sum.bits_per_inference += sequence.nominal_bits_per_inference;
    sum.exchanges += sequence.nominal_exchanges;
  }
  // One sequence keeps its figure to the last bit.
  sum.compression_rate = sequences.size() == 1  ? sequences.front().compression_rate
                         : sum.pdplc_tokens > 0 ? uncompressed_tokens / sum.pdplc_tokens
                                                : kNaN;
  return sum;
}

Json mpi_calls(const std::vector<fabric::Traffic>& traffic) {
  if (traffic.empty()) return nullptr;
  std::map<std::string, std::int64_t> calls;
  for (const fabric::Traffic& device : traffic)
    for (const auto& [function, count] : device.mpi_calls) calls[function] += count;
  return calls;
}

Json device_bits(const Result& result) {
  const auto bits = [&](std::int64_t fabric::Traffic::*counted,
                        std::vector<std::int64_t> Prediction::*predicted) {
    return per_input(result.traffic.empty() ? predicted_bits(result.predictions, predicted)
                                            : counted_bits(result.traffic, counted),
                     inputs_of(result));
  };
  using fabric::Traffic;
  return {{"payload_bits", bits(&Traffic::payload_bits, &Prediction::payload_bits)},
          {"header_bits", bits(&Traffic::header_bits, &Prediction::header_bits)},
          {"padding_bits", bits(&Traffic::padding_bits, &Prediction::padding_bits)},
          {"wire_bytes", bits(&Traffic::wire_bytes, &Prediction::wire_bytes)}};
}

/// Of an iteration: what the terminal distributes to all devices.
Json terminal_wire_bytes(const Result& result) {
  if (!result.spec.has_terminal()) return nullptr;
  return result.terminal_traffic ? result.terminal_traffic->wire_bytes
                                 : predicted_terminal_bytes(result.predictions);
}

/// Of all devices together.
Json losses_json(const fabric::LossCounts& losses) {
  const auto rows = static_cast<double>(losses.rows);
  return {{"packets", losses.packets},
          {"lost_packets", losses.lost_packets},
          {"lost_rows_fraction",
           losses.rows == 0 ? Json(nullptr) : Json(static_cast<double>(losses.lost_rows) / rows)}};
}

std::int64_t total_bits(const std::vector<Prediction>& sequences) {
  const std::vector<std::int64_t> bytes = predicted_bits(sequences, &Prediction::wire_bytes);
  return 8 * std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

/// Bits of an iteration, all devices together, where they depend on the data.
Json index_coding_json(const Result& result) {
  Json counted;
  if (!result.traffic.empty()) {
    std::int64_t bytes = 0;
    for (const fabric::Traffic& device : result.traffic) bytes += device.wire_bytes;
    counted = 8 * bytes;
  }
  return {{"coding", to_string(result.spec.index_coding)},
          {"counted_bits", std::move(counted)},
          {"expected_bits", total_bits(result.predictions)},
          {"worst_case_bits", total_bits(result.coding_bounds.worst)},
          {"fixed_bits", total_bits(result.coding_bounds.fixed)}};
}

Json traffic_section(const Result& result) {
  if (result.predictions.empty() && result.traffic.empty()) return nullptr;
  const Nominal figures = nominal(result.predictions);
  const auto& requested = result.spec.compression_rate;
  Json section{{"pdplc_tokens", finite_or_null(figures.pdplc_tokens)},
               {"compression_rate", finite_or_null(figures.compression_rate)},
               {"compression_rate_requested", requested ? Json(*requested) : Json(nullptr)},
               {"exchanges", figures.exchanges},
               {"nominal_bits_per_exchange", finite_or_null(figures.bits_per_exchange)},
               {"nominal_bits_first_exchange", finite_or_null(figures.bits_first_exchange)},
               {"nominal_bits_per_inference", finite_or_null(figures.bits_per_inference)},
               {"link_bits", link_bits_json(result, 0)},
               {"mpi_calls", mpi_calls(result.traffic)},
               {"terminal_wire_bytes", terminal_wire_bytes(result)},
               {"per_device", device_bits(result)}};
  if (result.losses) section["losses"] = losses_json(*result.losses);
  if (!result.coding_bounds.empty()) section["index_coding"] = index_coding_json(result);
  return section;
}

/// Every device's prediction; sequences run one after the other, so the largest of each counts.
std::vector<std::int64_t> predicted_memory(const Result& result, std::int64_t cost::Memory::*part) {
  std::vector<std::int64_t> bytes;
  for (const Prediction& sequence : result.predictions) {
    bytes.resize(sequence.memory.size());
    for (std::size_t p = 0; p < bytes.size(); ++p)
      bytes[p] = std::max(bytes[p], sequence.memory[p].*part);
  }
  return bytes;
}

Json largest(const std::vector<std::int64_t>& bytes) {
  return bytes.empty() ? Json(nullptr) : Json(std::ranges::max(bytes));
}

/// Figures of the device that needs most, then each device's. Weights, codebooks, buffers and
/// activations are predicted, held and resident bytes measured.
Json memory_section(const Result& result) {
  if (result.predictions.empty() && result.held_bytes.empty()) return nullptr;
  const auto weights = predicted_memory(result, &cost::Memory::weights);
  const auto codebooks = predicted_memory(result, &cost::Memory::codebooks);
  const auto buffers = predicted_memory(result, &cost::Memory::buffers);
  const auto activations = predicted_memory(result, &cost::Memory::activations);
  return {{"weights_bytes", largest(weights)},
          {"codebooks_bytes", largest(codebooks)},
          {"buffers_bytes", largest(buffers)},
          {"activations_bytes", largest(activations)},
          {"held_bytes", largest(result.held_bytes)},
          {"resident_bytes", largest(result.resident_bytes)},
          {"shared_bytes", result.shared_bytes ? Json(*result.shared_bytes) : Json(nullptr)},
          {"per_device",
           {{"weights_bytes", weights},
            {"codebooks_bytes", codebooks},
            {"buffers_bytes", buffers},
            {"activations_bytes", activations},
            {"held_bytes", result.held_bytes},
            {"resident_bytes", result.resident_bytes}}}};
}

bool terminal_agrees(const Result& result) {
  if (!result.terminal_operations || !result.terminal_traffic) return true;
  return *result.terminal_operations == predicted_terminal_operations(result.predictions) &&
         result.terminal_traffic->wire_bytes == predicted_terminal_bytes(result.predictions);
}

/// Where sizes depend on the data: nothing is longer than it can be.
bool is_within_bounds(const Result& result) {
  const std::vector<std::int64_t> most =
      predicted_bits(result.coding_bounds.worst, &Prediction::wire_bytes);
  return std::ranges::equal(result.traffic, most, std::ranges::less_equal{},
                            &fabric::Traffic::wire_bytes);
}

/// Null where nothing was counted.
Json counted_equals_predicted(const Result& result) {
  if (result.counted_equals_predicted) return *result.counted_equals_predicted;
  if (result.operations.empty() || result.predictions.empty()) return nullptr;
  using fabric::Traffic;
  const auto agree = [&](std::int64_t Traffic::*counted,
                         std::vector<std::int64_t> Prediction::*predicted) {
    return counted_bits(result.traffic, counted) == predicted_bits(result.predictions, predicted);
  };
  const bool bits_agree = result.coding_bounds.empty()
                              ? agree(&Traffic::payload_bits, &Prediction::payload_bits) &&
                                    agree(&Traffic::padding_bits, &Prediction::padding_bits)
                              : is_within_bounds(result);
  return result.operations == predicted_operations(result.predictions) && bits_agree &&
         agree(&Traffic::header_bits, &Prediction::header_bits) && terminal_agrees(result);
}

}  // namespace

std::string_view to_string(Source source) {
  return source == Source::measured ? "measured" : "predicted";
}

std::string_view to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::failed:
      return "failed";
    case Status::skipped:
      return "skipped";
  }
  return "failed";
}

Json to_json(const Result& result) {
  const Fingerprints fingerprints{result.model_fingerprint,
                                  result.codebook ? result.codebook->fingerprint : "",
                                  result.data_fingerprint};
  const bool has_figures = !result.predictions.empty() || !result.operations.empty();
  return {{"schema", kResultSchema},
          {"id", spec_id(result.spec, to_string(result.source), fingerprints)},
          {"status", to_string(result.status)},
          {"reason", or_null(result.reason)},
          {"source", to_string(result.source)},
          {"spec", spec_section(result)},
          {"operations", operations_section(result)},
          {"traffic", traffic_section(result)},
          {"memory", memory_section(result)},
          {"codebook", codebook_section(result)},
          {"time", has_figures ? time_section(result) : Json(nullptr)},
          {"answer", result.answer},
          {"accuracy", result.accuracy},
          {"checks",
           {{"counted_equals_predicted", counted_equals_predicted(result)},
            {"agreement", result.agreement}}},
          {"environment", result.environment}};
}

Result unfinished(RunSpec spec, Source source, Status status, std::string reason) {
  Result result;
  result.spec = std::move(spec);
  result.source = source;
  result.status = status;
  result.reason = std::move(reason);
  return result;
}

}  // namespace thinwire::harness
