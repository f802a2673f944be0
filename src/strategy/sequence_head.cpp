#include "thinwire/strategy/sequence_head.hpp"

namespace thinwire::strategy {
namespace {

using model::HeadKind;

Index logit_rows(const model::ModelConfig& config, const DeviceRole& role, Index rows) {
  switch (config.head) {
    case HeadKind::language_model:
      return rows;
    case HeadKind::class_token:
    case HeadKind::pooler:
      return role.device == 0 ? 1 : 0;
    case HeadKind::mean_pooling:
      break;
  }
  return 0;
}

Index logit_columns(const model::ModelConfig& config) {
  return config.head == HeadKind::language_model ? config.vocabulary : config.labels;
}

Index pooled_rows(const model::ModelConfig& config, const DeviceRole& role) {
  if (config.head == HeadKind::mean_pooling) return 1;
  return config.head == HeadKind::pooler && role.device == 0 ? 1 : 0;
}

Index gathered_rows(const model::ModelConfig& config, const DeviceRole& role,
                    std::span<const Layout> layouts) {
  const bool gathers = config.head == HeadKind::mean_pooling || layouts.front().replicated > 0;
  return gathers && role.device == 0 && role.devices > 1 ? role.devices : 0;
}

/// Device 0's row becomes (itself + the other devices' rows) / count.
void average(MatrixView<float> row, MatrixView<const float> others, Index count) {
  for (Index c = 0; c < row.cols(); ++c) {
    for (Index r = 0; r < others.rows(); ++r) row(0, c) += others(r, c);
    row(0, c) /= static_cast<float>(count);
  }
}

}  // namespace

SequenceHead::SequenceHead(const model::Model& model, const DeviceRole& role,
                           std::span<const Layout> layouts)
    : model_(model),
      pooled_(pooled_rows(model.config(), role), model.config().hidden, role.memory),
      logits_(logit_rows(model.config(), role, most_local_rows(layouts)),
              logit_columns(model.config()), role.memory),
      gathered_(gathered_rows(model.config(), role, layouts), model.config().hidden, role.memory) {
  for (const Layout& layout : layouts)
    TW_REQUIRE(layout.replicated == 0 ||
                   (layout.replicated == 1 && model.config().head == HeadKind::class_token),
               "{} rows that every device copies, for a model whose head does not read them alone",
               layout.replicated);
}

Output SequenceHead::operator()(const Layout& layout, const model::ModelInput& input,
                                MatrixView<float> x, fabric::Fabric& fabric) {
  const model::Head& head = model_.head();
  const HeadKind kind = model_.config().head;
  if (kind == HeadKind::mean_pooling) return pool_mean(layout, input, x, fabric);
  if (layout.replicated > 0) average_copies(layout, x, fabric);

  Output output;
  fabric.compute({"head", number()}, [&](Operations& counted) {
    // Hidden states that an observer took are those before this norm.
    head.normalise(x, counted);
    if (kind == HeadKind::language_model) {
      head.language_model(x, logits_.first(x.rows()), counted);
      output = {logits_.first(x.rows()), layout.local()};
    } else if (layout.device == 0) {
      head.classify(x.rows(0, 1), pooled_.view(), logits_.view(), counted);
      output = {logits_.view(), {}};
    }
  });
  return output;
}

/// Device 0's copy of the class token becomes the mean of all (METHODS 3.2).
void SequenceHead::average_copies(const Layout& layout, MatrixView<float> x,
                                  fabric::Fabric& fabric) {
  const MatrixView<float> copy = x.rows(0, 1);
  const MatrixView<const float> others = gather(layout, copy, fabric);
  if (layout.device != 0) return;
  fabric.compute({"average copies", number()},
                 [&](Operations&) { average(copy, others, layout.devices()); });
}

/// Partial sums cross the wire once; device 0 has the mean.
Output SequenceHead::pool_mean(const Layout& layout, const model::ModelInput& input,
                               MatrixView<float> x, fabric::Fabric& fabric) {
  const MatrixView<float> sum = pooled_.view();
  fabric.compute({"pooling", number()},
                 [&](Operations&) { model::sum_real_rows(x, layout.local().begin, input, sum); });
  MatrixView<const float> others;
  if (layout.devices() > 1) others = gather(layout, sum, fabric);
  if (layout.device != 0) return {};

  fabric.compute({"pooling", number()}, [&](Operations&) {
    Index real = 0;
    for (Index token = 0; token < layout.tokens(); ++token) real += input.is_real(token) ? 1 : 0;
    average(sum, others, real);
  });
  return {sum, {}};
}

/// On device 0: the `row` [1, hidden] of every other device.
MatrixView<const float> SequenceHead::gather(const Layout& layout, MatrixView<const float> row,
                                             fabric::Fabric& fabric) {
  const bool sends = layout.device != 0;
  const fabric::Payload payload{.bytes = sends ? std::as_bytes(row.elements())
                                               : std::span<const std::byte>{}};
  fabric.wait(fabric.gather(0, payload, std::as_writable_bytes(gathered_.view().elements())));
  return sends ? MatrixView<const float>{} : gathered_.first(layout.devices() - 1);
}

}  // namespace thinwire::strategy
