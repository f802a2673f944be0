#include "thinwire/strategy/pipeline.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "thinwire/ops/attention.hpp"
#include "thinwire/strategy/terminal.hpp"
#include "thinwire/strategy/token_columns.hpp"
#include "whole_head.hpp"

namespace thinwire::strategy {
namespace {

/// Where a device stands in the pipeline.
struct Stage {
  int number = 0, stages = 1;
  Slice blocks;

  bool is_first() const { return number == 0; }
  bool is_last() const { return number + 1 == stages; }
  /// Buffers of rows it needs: what arrives must not overwrite what is being sent.
  Index buffers() const { return is_first() || is_last() ? 1 : 2; }
};

class Pipeline final : public Strategy {
 public:
  /// plans: for a terminal, which then embeds and collects; empty without one.
  Pipeline(const model::Model& model, const DeviceRole& role, const Stage& stage, int micro_batches,
           std::vector<TerminalPlan> plans);

  Output forward(const model::ModelInput& input, fabric::Fabric& fabric,
                 Observer* observer) override;

 private:
  /// What one call of forward works on.
  struct Pass {
    const model::ModelInput& input;
    Index tokens;
    MatrixView<const float> embedded;  ///< [M * N, hidden], from the terminal to the first stage
    fabric::Fabric& fabric;
    Observer* observer;
  };

  /// Which copy of the input the stage works on in a step; it may be none.
  int copy_at(int step) const { return step - stage_.number; }
  bool is_busy(int step) const { return copy_at(step) >= 0 && copy_at(step) < micro_batches_; }
  /// [N, hidden]: the rows that the stage works on in a step.
  MatrixView<float> rows_at(const Pass& pass, int step);
  /// This stage's part of one copy; the last one has the output.
  Output work(const Pass& pass, int step);
  void embed(const Pass& pass, int step, MatrixView<float> x);
  Output keep_answer(const Pass& pass, int number, const Output& answer);
  void run_block(const Pass& pass, Index layer, MatrixView<float> x);
  /// Sends the rows of this step, receives those of the next one.
  void pass_on(const Pass& pass, int step);

  const model::Model& model_;
  Stage stage_;
  int micro_batches_;
  std::vector<Index> lengths_;
  Index tokens_;  ///< N of the longest sequence

  // The workspace of a pass; `cost` predicts its size term by term.
  Matrix<float> x_;  ///< [buffers * tokens, hidden], taken in turn
  Matrix<float> normed_, query_, attended_, ffn_;
  Matrix<float> patches_;  ///< on the first stage
  ops::KvContext context_;
  ops::Attention attention_;
  TokenColumns columns_;
  std::optional<WholeHead> head_;  ///< on the last stage
  std::optional<TerminalLink> terminal_;
  Index answer_rows_ = 0;  ///< most rows of one copy's answer that the terminal collects
  Matrix<float> answers_;  ///< [M * answer rows, answer_width], on the last stage
};

Pipeline::Pipeline(const model::Model& model, const DeviceRole& role, const Stage& stage,
                   int micro_batches, std::vector<TerminalPlan> plans)
    : model_(model),
      stage_(stage),
      micro_batches_(micro_batches),
      lengths_(role.lengths),
      tokens_(std::ranges::max(lengths_)),
      x_(stage.buffers() * tokens_, model.config().hidden, role.memory),
      normed_(tokens_, model.config().hidden, role.memory),
      query_(tokens_, model.config().hidden, role.memory),
      attended_(tokens_, model.config().hidden, role.memory),
      ffn_(tokens_, model.config().ffn, role.memory),
      patches_(stage.is_first() && !model.config().is_text() ? tokens_ : 0,
               model.config().patch_inputs(), role.memory),
      context_(tokens_, model.config().hidden, role.memory),
      attention_(model.config().heads, model.config().head_dim(),
                 model.config().is_causal() ? ops::Mask::causal : ops::Mask::none, tokens_, tokens_,
                 role.threads, role.memory),
      columns_(tokens_, role.memory) {
  if (stage.is_last()) head_.emplace(model, lengths_, role.memory);
  if (plans.empty()) return;
  for (const TerminalPlan& plan : plans)
    answer_rows_ = std::max(answer_rows_, plan.shares.back().answer_rows / plan.answers);
  if (stage.is_last())
    answers_ =
        Matrix<float>(micro_batches * answer_rows_, answer_width(model.config()), role.memory);
  terminal_.emplace(model, role, std::move(plans), nullptr);
}

Output Pipeline::forward(const model::ModelInput& input, fabric::Fabric& fabric,
                         Observer* observer) {
  const Index tokens = input.tokens(model_.config());
  TW_REQUIRE(std::ranges::find(lengths_, tokens) != lengths_.end(),
             "a sequence of {} tokens was not announced", tokens);
  columns_.describe(tokens, input, [](Index row) { return row; });
  MatrixView<const float> embedded;
  if (terminal_) embedded = terminal_->receive(tokens, nullptr, fabric);
  const Pass pass{input, tokens, embedded, fabric, observer};

  Output output;
  const int steps = micro_batches_ + stage_.stages - 1;
  for (int step = 0; step < steps; ++step) {
    if (is_busy(step)) output = work(pass, step);
    if (step + 1 < steps && stage_.stages > 1) pass_on(pass, step);
  }
  return terminal_ ? terminal_->send(tokens, output, fabric) : output;
}

Output Pipeline::work(const Pass& pass, int step) {
  const bool is_first_copy = copy_at(step) == 0;
  Observer* const observer = is_first_copy ? pass.observer : nullptr;
  const MatrixView<float> x = rows_at(pass, step);
  if (stage_.is_first()) embed(pass, step, x);
  if (stage_.is_first() && observer != nullptr) observer->on_hidden(0, {0, pass.tokens}, x);
  for (Index layer = stage_.blocks.begin; layer < stage_.blocks.end(); ++layer) {
    run_block(pass, layer, x);
    if (observer != nullptr) observer->on_hidden(layer + 1, {0, pass.tokens}, x);
  }
  if (!stage_.is_last()) return {};

  Output output = (*head_)(pass.input, x, pass.fabric);
  if (terminal_) output = keep_answer(pass, copy_at(step), output);
  if (is_first_copy && micro_batches_ > 1) pass.fabric.mark(fabric::Milestone::first_output);
  return output;
}

MatrixView<float> Pipeline::rows_at(const Pass& pass, int step) {
  return x_.view().rows(step % stage_.buffers() * tokens_, pass.tokens);
}

void Pipeline::embed(const Pass& pass, int step, MatrixView<float> x) {
  if (terminal_) {
    const auto rows = pass.embedded.rows(copy_at(step) * pass.tokens, pass.tokens);
    pass.fabric.compute({"distribute", 0}, [&](Operations&) { copy(rows, x); });
    return;
  }
  pass.fabric.compute({"embedding", 0}, [&](Operations& counted) {
    model_.embedding()(pass.input, {0, pass.tokens}, x, patches_.view(), counted);
  });
}

/// The last rows of the copy's answer, or all, behind those of the copies before.
Output Pipeline::keep_answer(const Pass& pass, int number, const Output& answer) {
  const MatrixView<const float> values = answer.values;
  const Index rows = std::min(answer_rows_, values.rows());
  pass.fabric.compute({"collect", static_cast<int>(model_.config().layers)}, [&](Operations&) {
    copy(values.rows(values.rows() - rows, rows), answers_.view().rows(number * rows, rows));
  });
  return {answers_.first((number + 1) * rows), {}};
}

void Pipeline::run_block(const Pass& pass, Index layer, MatrixView<float> x) {
  const model::Block& block = model_.block(layer);
  const int number = static_cast<int>(layer);
  const MatrixView<float> normed = normed_.first(pass.tokens), query = query_.first(pass.tokens);
  pass.fabric.compute({"project", number}, [&](Operations& counted) {
    const MatrixView<const float> input = block.kv_input(x, normed, counted);
    block.project_query(input, query, counted);
    context_.clear();
    block.project_kv(input, context_.append(columns_.log_counts(), columns_.positions()), counted);
  });
  pass.fabric.compute({"attention", number}, [&](Operations& counted) {
    const MatrixView<float> attended = attended_.first(pass.tokens);
    attention_(query, context_, columns_.positions(), attended, counted);
    block.attention_residual(attended, x, counted);
  });
  pass.fabric.compute({"finish", number}, [&](Operations& counted) {
    block.finish(x, normed, ffn_.first(pass.tokens), counted);
  });
}

/// Collective over all stages, so that stages with nothing to send or receive take part too.
void Pipeline::pass_on(const Pass& pass, int step) {
  const bool sends = is_busy(step) && !stage_.is_last();
  const bool receives = is_busy(step + 1) && !stage_.is_first();
  fabric::Payload payload;
  if (sends) payload.bytes = std::as_bytes(rows_at(pass, step).elements());
  std::span<std::byte> into;
  if (receives) into = std::as_writable_bytes(rows_at(pass, step + 1).elements());

  const int next = sends ? stage_.number + 1 : -1;
  const fabric::Delivery delivery = pass.fabric.wait(pass.fabric.send_receive(payload, next, into));
  if (!receives) return;
  const std::size_t arrived = delivery.from(stage_.number - 1).size();
  TW_REQUIRE(arrived == into.size(), "stage {} sent {} bytes, {} were expected", stage_.number - 1,
             arrived, into.size());
}

/// The first stage gets the rows of every copy, the last one has the answers.
std::vector<TerminalPlan> make_plans(const DeviceRole& role, const model::ModelConfig& config,
                                     const StrategyOptions& options) {
  std::vector<TerminalPlan> plans;
  for (const Index tokens : role.lengths) {
    const auto devices = static_cast<std::size_t>(role.devices);
    TerminalPlan plan{.layout = {std::vector<Slice>(devices)}, .shares = {}, .answer = {}};
    plan.layout.slices.back() = {0, tokens};  // of which a plan reads the length alone
    plan.shares.resize(devices);
    plan.shares.front().rows.assign(static_cast<std::size_t>(options.micro_batches), {0, tokens});
    if (config.head == model::HeadKind::language_model)
      plan.answer = options.collect == Collect::all ? Slice{0, tokens} : Slice{tokens - 1, 1};
    plan.answers = options.micro_batches;
    plan.shares.back().answer_rows = plan.answers * std::max<Index>(1, plan.answer.size);
    plans.push_back(std::move(plan));
  }
  return plans;
}

/// Throws InputError unless there is a block for every stage.
Stage make_stage(const model::ModelConfig& config, const DeviceRole& role) {
  require_input(
      role.devices <= config.layers,
      "strategy=pipeline with devices={} and layers={} (a stage needs at least one block)",
      role.devices, config.layers);
  const auto stages = partition(config.layers, role.devices, PartitionPolicy::balanced);
  // The terminal is no stage.
  const int number = std::min(role.device, role.devices - 1);
  return {number, role.devices, stages[static_cast<std::size_t>(number)]};
}

}  // namespace

std::unique_ptr<Strategy> make_pipeline(const model::Model& model, const StrategyOptions& options,
                                        const DeviceRole& role) {
  TW_REQUIRE(!role.lengths.empty(), "a device role without a sequence length");
  require_input(options.micro_batches >= 1, "micro-batches={} (at least one is needed)",
                options.micro_batches);
  const Stage stage = make_stage(model.config(), role);
  std::vector<TerminalPlan> plans;
  if (options.io == Io::terminal) plans = make_plans(role, model.config(), options);
  if (role.device == role.devices)
    return std::make_unique<Terminal>(model, role, std::move(plans), nullptr);
  return std::make_unique<Pipeline>(model, role, stage, options.micro_batches, std::move(plans));
}

}  // namespace thinwire::strategy
