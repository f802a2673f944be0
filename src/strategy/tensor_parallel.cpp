#include "thinwire/strategy/tensor_parallel.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "thinwire/fabric/ring_all_reduce.hpp"
#include "thinwire/model/block_share.hpp"
#include "thinwire/ops/attention.hpp"
#include "thinwire/strategy/sequence_parallel.hpp"
#include "thinwire/strategy/terminal.hpp"
#include "thinwire/strategy/token_columns.hpp"
#include "whole_head.hpp"

namespace thinwire::strategy {
namespace {

using model::HeadKind;

/// What this device computes of every block.
struct Part {
  Slice heads, ffn_columns;
};

Slice part_of(Index count, const DeviceRole& role) {
  return partition(count, role.devices,
                   PartitionPolicy::balanced)[static_cast<std::size_t>(role.device)];
}

/// Weights, not workspace: they do not count as what a pass holds.
std::vector<model::BlockShare> make_shares(const model::Model& model, const Part& part,
                                           std::pmr::memory_resource* memory) {
  std::vector<model::BlockShare> shares;
  for (Index layer = 0; layer < model.config().layers; ++layer)
    shares.emplace_back(model.block(layer), model.config(), part.heads, part.ffn_columns, memory);
  return shares;
}

class TensorParallel final : public Strategy {
 public:
  /// layouts: of which rows this device reports hidden states and gives a language model's logits.
  /// plans: for a terminal, which then embeds and collects; empty without one.
  TensorParallel(const model::Model& model, const DeviceRole& role, const Part& part,
                 std::vector<Layout> layouts, std::vector<TerminalPlan> plans);

  Output forward(const model::ModelInput& input, fabric::Fabric& fabric,
                 Observer* observer) override;

 private:
  /// What one call of forward works on.
  struct Pass {
    const model::ModelInput& input;
    Slice local;          ///< the rows that this device answers for
    MatrixView<float> x;  ///< [N, hidden], the same on all devices
    fabric::Fabric& fabric;
    Observer* observer;
  };

  void embed(const Pass& pass);
  void run_block(const Pass& pass, Index layer);
  void attend(const Pass& pass, Index layer);
  void feed_forward(const Pass& pass, Index layer);
  /// The partial sums of all devices become their sum.
  void add_up(const Pass& pass, Index layer);
  Output run_head(const Pass& pass);
  void report_hidden(const Pass& pass, Index index) const;

  const model::Model& model_;
  std::vector<Layout> layouts_;
  std::vector<model::BlockShare> shares_;  ///< one a block
  Index tokens_;                           ///< N of the longest sequence

  // The workspace of a pass; `cost` predicts its size term by term.
  Matrix<float> x_, normed_, partial_, query_, attended_, ffn_, patches_;
  ops::KvContext context_;
  ops::Attention attention_;
  TokenColumns columns_;
  fabric::RingAllReduce all_reduce_;
  Matrix<float> logits_;           ///< [n_p, vocabulary], language models
  std::optional<WholeHead> head_;  ///< the other heads, on device 0
  std::optional<TerminalLink> terminal_;
};

TensorParallel::TensorParallel(const model::Model& model, const DeviceRole& role, const Part& part,
                               std::vector<Layout> layouts, std::vector<TerminalPlan> plans)
    : model_(model),
      layouts_(std::move(layouts)),
      shares_(make_shares(model, part, role.weights)),
      tokens_(longest(layouts_)),
      x_(tokens_, model.config().hidden, role.memory),
      normed_(tokens_, model.config().hidden, role.memory),
      partial_(tokens_, model.config().hidden, role.memory),
      query_(tokens_, shares_.front().width(), role.memory),
      attended_(tokens_, shares_.front().width(), role.memory),
      ffn_(tokens_, part.ffn_columns.size, role.memory),
      patches_(model.config().is_text() ? 0 : tokens_, model.config().patch_inputs(), role.memory),
      context_(tokens_, shares_.front().width(), role.memory),
      attention_(part.heads.size, model.config().head_dim(),
                 model.config().is_causal() ? ops::Mask::causal : ops::Mask::none, tokens_, tokens_,
                 role.threads, role.memory),
      columns_(tokens_, role.memory),
      all_reduce_(role.devices, tokens_ * model.config().hidden, role.memory) {
  const model::ModelConfig& config = model.config();
  if (config.head == HeadKind::language_model)
    logits_ = Matrix<float>(most_local_rows(layouts_), config.vocabulary, role.memory);
  else if (role.device == 0)
    head_.emplace(model, role.lengths, role.memory);
  if (!plans.empty()) terminal_.emplace(model, role, std::move(plans), nullptr);
}

Output TensorParallel::forward(const model::ModelInput& input, fabric::Fabric& fabric,
                               Observer* observer) {
  const Layout& layout = layout_of(layouts_, input.tokens(model_.config()));
  const Pass pass{input, layout.local(), x_.first(layout.tokens()), fabric, observer};
  columns_.describe(layout.tokens(), input, [](Index row) { return row; });
  embed(pass);
  report_hidden(pass, 0);
  for (Index layer = 0; layer < model_.config().layers; ++layer) {
    run_block(pass, layer);
    report_hidden(pass, layer + 1);
  }
  const Output output = run_head(pass);
  return terminal_ ? terminal_->send(layout.tokens(), output, fabric) : output;
}

void TensorParallel::embed(const Pass& pass) {
  if (terminal_) {
    const MatrixView<const float> rows = terminal_->receive(pass.x.rows(), nullptr, pass.fabric);
    pass.fabric.compute({"distribute", 0}, [&](Operations&) { copy(rows, pass.x); });
    return;
  }
  pass.fabric.compute({"embedding", 0}, [&](Operations& counted) {
    model_.embedding()(pass.input, {0, pass.x.rows()}, pass.x, patches_.view(), counted);
  });
}

void TensorParallel::run_block(const Pass& pass, Index layer) {
  attend(pass, layer);
  add_up(pass, layer);
  feed_forward(pass, layer);
  add_up(pass, layer);
  pass.fabric.compute({"residual", static_cast<int>(layer)}, [&](Operations& counted) {
    model_.block(layer).add_feed_forward(partial_.first(pass.x.rows()), pass.x, counted);
  });
}

void TensorParallel::attend(const Pass& pass, Index layer) {
  const model::Block& block = model_.block(layer);
  const model::BlockShare& share = shares_[static_cast<std::size_t>(layer)];
  const int number = static_cast<int>(layer);
  const Index rows = pass.x.rows();
  pass.fabric.compute({"project", number}, [&](Operations& counted) {
    const MatrixView<const float> input = block.kv_input(pass.x, normed_.first(rows), counted);
    share.project_query(input, query_.first(rows), counted);
    context_.clear();
    share.project_kv(input, context_.append(columns_.log_counts(), columns_.positions()), counted);
  });
  pass.fabric.compute({"attention", number}, [&](Operations& counted) {
    attention_(query_.first(rows), context_, columns_.positions(), attended_.first(rows), counted);
    share.attention_output(attended_.first(rows), partial_.first(rows), counted);
  });
}

void TensorParallel::feed_forward(const Pass& pass, Index layer) {
  const model::Block& block = model_.block(layer);
  const Index rows = pass.x.rows();
  pass.fabric.compute({"feed-forward", static_cast<int>(layer)}, [&](Operations& counted) {
    block.add_attention(partial_.first(rows), pass.x, counted);
    const MatrixView<const float> input =
        block.feed_forward_input(pass.x, normed_.first(rows), counted);
    shares_[static_cast<std::size_t>(layer)].feed_forward(input, ffn_.first(rows),
                                                          partial_.first(rows), counted);
  });
}

void TensorParallel::add_up(const Pass& pass, Index layer) {
  all_reduce_(partial_.first(pass.x.rows()).elements(), {"add up", static_cast<int>(layer)},
              pass.fabric);
}

Output TensorParallel::run_head(const Pass& pass) {
  if (head_) return (*head_)(pass.input, pass.x, pass.fabric);
  const bool is_language_model = model_.config().head == HeadKind::language_model;
  const MatrixView<float> logits = logits_.first(is_language_model ? pass.local.size : 0);
  pass.fabric.compute({"head", static_cast<int>(model_.config().layers)}, [&](Operations& counted) {
    model_.head().normalise(pass.x, counted);
    if (is_language_model)
      model_.head().language_model(pass.x.rows(pass.local.begin, pass.local.size), logits, counted);
  });
  return is_language_model ? Output{logits, pass.local} : Output{};
}

void TensorParallel::report_hidden(const Pass& pass, Index index) const {
  if (pass.observer == nullptr) return;
  pass.observer->on_hidden(index, pass.local, pass.x.rows(pass.local.begin, pass.local.size));
}

/// Every device gets every row.
std::vector<TerminalPlan> make_plans(std::span<const Layout> layouts,
                                     const model::ModelConfig& config, Collect collect) {
  std::vector<TerminalPlan> plans;
  for (const Layout& layout : layouts) {
    TerminalPlan plan = sequence_plan(layout, config, collect);
    for (TerminalShare& share : plan.shares) share.rows = {Slice{0, layout.tokens()}};
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace

std::unique_ptr<Strategy> make_tensor_parallel(const model::Model& model,
                                               const StrategyOptions& options,
                                               const DeviceRole& role) {
  const model::ModelConfig& config = model.config();
  require_input(role.devices <= config.heads,
                "strategy=tensor with devices={} and heads={} (a device needs at least one head)",
                role.devices, config.heads);
  if (role.devices == 1) return make_strategy("single", model, options, role);
  std::vector<Layout> layouts = make_layouts(role, options);
  std::vector<TerminalPlan> plans;
  if (options.io == Io::terminal) plans = make_plans(layouts, config, options.collect);
  if (role.device == role.devices)
    return std::make_unique<Terminal>(model, role, std::move(plans), nullptr);
  const Part part{part_of(config.heads, role), part_of(config.ffn, role)};
  return std::make_unique<TensorParallel>(model, role, part, std::move(layouts), std::move(plans));
}

}  // namespace thinwire::strategy
