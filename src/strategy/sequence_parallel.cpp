#include "thinwire/strategy/sequence_parallel.hpp"

#include <limits>

namespace thinwire::strategy {
namespace {

using model::HeadKind;

Index most_local_rows(std::span<const Layout> layouts) {
  return std::ranges::max(layouts, {}, &Layout::local_tokens).local_tokens();
}

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

Index partial_sum_rows(const model::ModelConfig& config, const DeviceRole& role) {
  const bool receives = config.head == HeadKind::mean_pooling && role.device == 0;
  return receives && role.devices > 1 ? role.devices : 0;
}

ops::Mask mask_of(const model::ModelConfig& config) {
  return config.is_causal() ? ops::Mask::causal : ops::Mask::none;
}

}  // namespace

std::vector<Layout> make_layouts(const DeviceRole& role, const StrategyOptions& options) {
  TW_REQUIRE(!role.lengths.empty(), "a device role without a sequence length");
  std::vector<Layout> layouts;
  for (const Index tokens : role.lengths)
    layouts.push_back(
        {partition(tokens, role.devices, options.partition, options.weights), role.device});
  return layouts;
}

SequenceParallel::SequenceParallel(const model::Model& model, const DeviceRole& role,
                                   std::vector<Layout> layouts, std::unique_ptr<Exchange> exchange,
                                   Index max_columns)
    : model_(model),
      layouts_(std::move(layouts)),
      exchange_(std::move(exchange)),
      rows_(most_local_rows(layouts_)),
      x_(rows_, model.config().hidden, role.memory),
      normed_(rows_, model.config().hidden, role.memory),
      query_(rows_, model.config().hidden, role.memory),
      attended_(rows_, model.config().hidden, role.memory),
      ffn_(rows_, model.config().ffn, role.memory),
      patches_(model.config().is_text() ? 0 : rows_, model.config().patch_inputs(), role.memory),
      context_(max_columns, model.config().hidden, role.memory),
      attention_(model.config().heads, model.config().head_dim(), mask_of(model.config()), rows_,
                 max_columns, role.threads, role.memory),
      positions_(1, rows_, role.memory),
      log_counts_(1, rows_, role.memory),
      pooled_(pooled_rows(model.config(), role), model.config().hidden, role.memory),
      logits_(logit_rows(model.config(), role, rows_), logit_columns(model.config()), role.memory),
      partial_sums_(partial_sum_rows(model.config(), role), model.config().hidden, role.memory) {}

const Layout& SequenceParallel::layout_for(Index tokens) const {
  const auto found = std::ranges::find(layouts_, tokens, &Layout::tokens);
  TW_REQUIRE(found != layouts_.end(), "a sequence of {} tokens was not announced", tokens);
  return *found;
}

Output SequenceParallel::forward(const model::ModelInput& input, fabric::Fabric& fabric,
                                 Observer* observer) {
  const Layout& layout = layout_for(input.tokens(model_.config()));
  const Slice local = layout.local();
  const MatrixView<float> x = x_.first(local.size);
  begin(layout, input, observer);

  fabric.compute({"embedding", 0}, [&](Operations& counted) {
    model_.embedding()(input, local, x, patches_.view(), counted);
  });
  if (observer != nullptr) observer->on_hidden(0, local, x);
  if (exchange_) exchange_->publish_input(x, fabric);

  const Index layers = model_.config().layers;
  for (Index layer = 0; layer < layers; ++layer) {
    run_block(layer, x, fabric);
    if (observer != nullptr) observer->on_hidden(layer + 1, local, x);
    if (exchange_ && layer + 1 < layers) exchange_->after_block(layer, x, fabric);
  }
  return run_head(layout, input, x, fabric);
}

void SequenceParallel::begin(const Layout& layout, const model::ModelInput& input,
                             Observer* observer) {
  const Slice local = layout.local();
  for (Index row = 0; row < local.size; ++row) {
    const Index token = local.begin + row;
    positions_(0, row) = static_cast<std::int32_t>(token);
    log_counts_(0, row) = input.is_real(token) ? 0.0F : -std::numeric_limits<float>::infinity();
  }
  if (exchange_) exchange_->begin(layout, input, observer);
}

void SequenceParallel::run_block(Index layer, MatrixView<float> x, fabric::Fabric& fabric) {
  const model::Block& block = model_.block(layer);
  const int number = static_cast<int>(layer);
  const auto rows = static_cast<std::size_t>(x.rows());
  fabric.compute({"project", number},
                 [&](Operations& counted) { project_local(layer, x, counted); });
  if (exchange_) {
    exchange_->wait(layer, fabric);
    fabric.compute({"decode", number},
                   [&](Operations& counted) { exchange_->decode(layer, context_, counted); });
  }
  fabric.compute({"attention", number}, [&](Operations& counted) {
    attention_(query_.first(x.rows()), context_, positions_.view().row(0).first(rows),
               attended_.first(x.rows()), counted);
    block.attention_residual(attended_.first(x.rows()), x, counted);
  });
  if (exchange_) exchange_->after_attention(layer, x, fabric);
  fabric.compute({"finish", number}, [&](Operations& counted) {
    block.finish(x, normed_.first(x.rows()), ffn_.first(x.rows()), counted);
  });
}

void SequenceParallel::project_local(Index layer, MatrixView<const float> x, Operations& counted) {
  const model::Block& block = model_.block(layer);
  const auto rows = static_cast<std::size_t>(x.rows());
  const MatrixView<const float> input = block.kv_input(x, normed_.first(x.rows()), counted);
  block.project_query(input, query_.first(x.rows()), counted);
  context_.clear();
  block.project_kv(
      input,
      context_.append(log_counts_.view().row(0).first(rows), positions_.view().row(0).first(rows)),
      counted);
}

Output SequenceParallel::run_head(const Layout& layout, const model::ModelInput& input,
                                  MatrixView<float> x, fabric::Fabric& fabric) {
  const model::Head& head = model_.head();
  const HeadKind kind = model_.config().head;
  const int number = static_cast<int>(model_.config().layers);
  if (kind == HeadKind::mean_pooling) return pool_mean(layout, input, x, fabric);

  Output output;
  fabric.compute({"head", number}, [&](Operations& counted) {
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

/// Partial sums cross the wire once; device 0 has the mean.
Output SequenceParallel::pool_mean(const Layout& layout, const model::ModelInput& input,
                                   MatrixView<float> x, fabric::Fabric& fabric) {
  const int number = static_cast<int>(model_.config().layers);
  const MatrixView<float> sum = pooled_.view();
  fabric.compute({"pooling", number},
                 [&](Operations&) { model::sum_real_rows(x, layout.local().begin, input, sum); });
  if (layout.devices() > 1) {
    const bool sends = layout.device != 0;
    const fabric::Payload payload{.bytes = sends ? std::as_bytes(sum.elements())
                                                 : std::span<const std::byte>{}};
    fabric.wait(fabric.gather(0, payload, std::as_writable_bytes(partial_sums_.view().elements())));
  }
  if (layout.device != 0) return {};

  fabric.compute({"pooling", number}, [&](Operations&) {
    Index real = 0;
    for (Index token = 0; token < layout.tokens(); ++token) real += input.is_real(token) ? 1 : 0;
    for (Index c = 0; c < sum.cols(); ++c) {
      for (Index peer = 1; peer < layout.devices(); ++peer) sum(0, c) += partial_sums_(peer - 1, c);
      sum(0, c) /= static_cast<float>(real);
    }
  });
  return {sum, {}};
}

}  // namespace thinwire::strategy
