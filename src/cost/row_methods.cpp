#include <algorithm>

#include "schedule.hpp"
#include "thinwire/cost/family.hpp"
#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/work.hpp"

namespace thinwire::cost {
namespace {

/// Remote rows are normalised beside the local ones before K and V are projected from them.
Index normed_values(const model::ModelConfig& model, Index remote_rows) {
  return model.norm_order() == model::NormOrder::pre ? remote_rows * model.hidden : 0;
}

/// Bits of one row, for the papers' formulas.
double row_bits(const Workload& workload) {
  constexpr double kBitsPerByte = 8;
  return kBitsPerByte *
         static_cast<double>(compress::row_bytes(workload.payload, workload.model.hidden));
}

/// Rows as they are sent or arrive, which are held beside the fp32 ones when they are coded.
std::int64_t coded_bytes(const Workload& workload, Index rows) {
  if (workload.payload == compress::RowFormat::fp32) return 0;
  return rows * compress::row_bytes(workload.payload, workload.model.hidden);
}

/// What is kept of `received` rows on a link that drops packets: a flag a row, and for reuse the
/// rows of the exchange before with a flag each.
std::int64_t loss_bytes(const Workload& workload, Index received) {
  const bool reuses = workload.on_loss == fabric::OnLoss::reuse;
  return lost_rows_bytes(workload.on_loss, received) +
         (reuses ? received * (kBytesPerValue * workload.model.hidden + 1) : 0);
}

/// voltage: every row.
class Voltage final : public FamilyMethod {
 public:
  explicit Voltage(const Workload& workload) : workload_(workload) {}

  Index columns(const Share& share) const override { return share.tokens(); }
  compress::FrameSize payload(Index /*exchange*/, const Share& share) const override {
    return rows_payload(share.own, workload_.model.hidden, workload_.payload);
  }
  Operations decode(Index /*layer*/, const Share& share) const override {
    return project_remote_work(workload_.model, share.remote);
  }
  double nominal_bits(Index /*exchange*/) const override {
    return row_bits(workload_) * *nominal_tokens();
  }
  std::optional<double> nominal_tokens() const override {
    return static_cast<double>(workload_.tokens) / workload_.devices;
  }
  std::int64_t workspace_bytes(const Share& share) const override {
    const Index received = share.tokens();  // every device's rows, its own included
    return kBytesPerValue * (received * workload_.model.hidden + 2 * received +  // log g, position
                             normed_values(workload_.model, share.remote)) +
           coded_bytes(workload_, share.own + received) + loss_bytes(workload_, received);
  }

 private:
  const Workload& workload_;
};

/// prism: L Segment Means a device.
class Prism final : public FamilyMethod {
 public:
  Prism(const Workload& workload, std::span<const Share> shares) : workload_(workload) {
    // Throws unless 1 <= L <= n_p.
    for (const Share& share : shares) compress::segment_lengths(share.own, workload.segments);
  }

  Index columns(const Share& share) const override { return share.own + remote_rows(share); }
  compress::FrameSize payload(Index /*exchange*/, const Share& /*share*/) const override {
    return rows_payload(workload_.segments, workload_.model.hidden, workload_.payload);
  }
  Operations decode(Index /*layer*/, const Share& share) const override {
    return project_remote_work(workload_.model, remote_rows(share));
  }
  double nominal_bits(Index /*exchange*/) const override {
    return row_bits(workload_) * *nominal_tokens();
  }
  std::optional<double> nominal_tokens() const override {
    return static_cast<double>(workload_.segments);
  }
  std::int64_t workspace_bytes(const Share& share) const override {
    const Index received = workload_.devices * workload_.segments;
    const Index repeated = repeats() ? share.tokens() : 0;
    const Index rows = received + workload_.segments + repeated;  // the second: what it sends
    return kBytesPerValue * (rows * workload_.model.hidden +
                             2 * std::max(received, repeated) +  // log g, position
                             normed_values(workload_.model, remote_rows(share))) +
           coded_bytes(workload_, workload_.segments + received) + loss_bytes(workload_, received);
  }

 private:
  bool repeats() const { return workload_.scaling == compress::Scaling::duplicate; }
  Index remote_rows(const Share& share) const {
    return repeats() ? share.remote : (workload_.devices - 1) * workload_.segments;
  }

  const Workload& workload_;
};

}  // namespace

MethodPtr make_voltage(const Workload& workload, std::span<const Share> /*shares*/) {
  return std::make_unique<Voltage>(workload);
}

MethodPtr make_prism(const Workload& workload, std::span<const Share> shares) {
  return std::make_unique<Prism>(workload, shares);
}

}  // namespace thinwire::cost
