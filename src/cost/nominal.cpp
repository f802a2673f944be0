#include "nominal.hpp"

#include <limits>

namespace thinwire::cost {
namespace {

constexpr double kNoMeaning = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void add_nominal_figures(const Workload& workload, const FamilyMethod* method,
                         Prediction& prediction) {
  if (method == nullptr) {
    prediction.compression_rate = kNoMeaning;  // of nothing to nothing
    return;
  }
  const Index layers = workload.model.layers, hidden = workload.model.hidden;
  const double rows = static_cast<double>(workload.tokens) / workload.devices;
  const double first_bits = method->nominal_bits(0);
  // A model of one block has exchange 0 alone; the later ones' figure is what they would be.
  const double bits = method->nominal_bits(1);
  const std::optional<double> tokens = method->nominal_tokens();
  prediction.nominal_exchanges = layers;
  prediction.nominal_bits_per_exchange = bits;
  prediction.nominal_bits_first_exchange = first_bits;
  prediction.nominal_bits_per_inference = first_bits + static_cast<double>(layers - 1) * bits;
  prediction.compression_rate = 32 * static_cast<double>(hidden) * rows / bits;
  prediction.pdplc_tokens = tokens ? (workload.devices - 1) * *tokens : kNoMeaning;
}

void add_exchange_count(std::int64_t exchanges, Prediction& prediction) {
  prediction.nominal_exchanges = exchanges;
  prediction.compression_rate = kNoMeaning;
  if (exchanges == 0) return;
  prediction.pdplc_tokens = kNoMeaning;
  prediction.nominal_bits_per_exchange = kNoMeaning;
  prediction.nominal_bits_first_exchange = kNoMeaning;
  prediction.nominal_bits_per_inference = kNoMeaning;
}

}  // namespace thinwire::cost
