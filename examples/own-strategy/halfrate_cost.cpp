#include "halfrate.hpp"
#include "thinwire/cost/family.hpp"
#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/work.hpp"

namespace halfrate {
namespace {

using namespace thinwire;
using cost::Share;
using cost::Workload;

class HalfrateMethod final : public cost::FamilyMethod {
 public:
  HalfrateMethod(const Workload& workload, std::span<const Share> shares) : workload_(workload) {
    for (const Share& share : shares) all_sent_ += sent_rows(share.own);
  }

  Index columns(const Share& share) const override { return share.own + remote_rows(share); }
  compress::FrameSize payload(Index /*exchange*/, const Share& share) const override {
    return {.payload_bits = 32 * sent_rows(share.own) * workload_.model.hidden};
  }
  Operations decode(Index /*layer*/, const Share& share) const override {
    return cost::project_remote_work(workload_.model, remote_rows(share));
  }
  double nominal_bits(Index /*exchange*/) const override {
    return 32 * static_cast<double>(workload_.model.hidden) * *nominal_tokens();
  }
  std::optional<double> nominal_tokens() const override {
    return static_cast<double>(workload_.tokens) / (2 * workload_.devices);
  }
  std::int64_t workspace_bytes(const Share& share) const override {
    const bool is_pre_norm = workload_.model.norm_order() == model::NormOrder::pre;
    const Index normed = is_pre_norm ? remote_rows(share) : 0;
    return cost::kBytesPerValue *
           ((all_sent_ + sent_rows(share.own) + normed) * workload_.model.hidden +
            2 * all_sent_);  // log counts, positions
  }

 private:
  Index remote_rows(const Share& share) const { return all_sent_ - sent_rows(share.own); }

  const Workload& workload_;
  Index all_sent_ = 0;
};

cost::MethodPtr make_method(const Workload& workload, std::span<const Share> shares) {
  return std::make_unique<HalfrateMethod>(workload, shares);
}

}  // namespace

cost::Prediction predict(const Workload& workload) {
  return cost::predict_member(workload, make_method);
}

}  // namespace halfrate
