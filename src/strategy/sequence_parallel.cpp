#include "thinwire/strategy/sequence_parallel.hpp"

#include <utility>

namespace thinwire::strategy {
namespace {

using compress::Published;

ops::Mask mask_of(const model::ModelConfig& config) {
  return config.is_causal() ? ops::Mask::causal : ops::Mask::none;
}

}  // namespace

std::vector<Layout> make_layouts(const DeviceRole& role, const StrategyOptions& options,
                                 Index replicated) {
  TW_REQUIRE(!role.lengths.empty(), "a device role without a sequence length");
  std::vector<Layout> layouts;
  for (const Index tokens : role.lengths) {
    Layout layout{partition(tokens - replicated, role.devices, options.partition, options.weights),
                  role.device, replicated};
    for (Slice& slice : layout.slices) slice.begin += replicated;
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

SequenceParallel::SequenceParallel(const model::Model& model, const DeviceRole& role,
                                   std::vector<Layout> layouts, std::unique_ptr<Exchange> exchange,
                                   Index max_columns, Overlap overlap,
                                   std::optional<TerminalLink> terminal)
    : model_(model),
      layouts_(std::move(layouts)),
      exchange_(std::move(exchange)),
      overlap_(overlap),
      terminal_(std::move(terminal)),
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
      local_(rows_, role.memory),
      head_(model, role, layouts_) {}

const Layout& SequenceParallel::layout_for(Index tokens) const {
  const auto found = std::ranges::find(layouts_, tokens, &Layout::tokens);
  TW_REQUIRE(found != layouts_.end(), "a sequence of {} tokens was not announced", tokens);
  return *found;
}

Output SequenceParallel::forward(const model::ModelInput& input, fabric::Fabric& fabric,
                                 Observer* observer) {
  const Layout& layout = layout_for(input.tokens(model_.config()));
  const Pass pass{layout, input, x_.first(layout.local_rows()), fabric, observer};
  begin(pass);
  if (terminal_) {
    receive_input(pass);  // exchange 0 comes with it
    report_hidden(pass, 0);
  } else {
    embed(pass);
    report_hidden(pass, 0);
    if (exchange_) publish(pass, 0, pass.x);
  }
  for (Index layer = 0; layer < model_.config().layers; ++layer) run_block(pass, layer);
  const Output output = head_(layout, input, pass.x, fabric);
  return terminal_ ? terminal_->send(layout.tokens(), output, fabric) : output;
}

void SequenceParallel::begin(const Pass& pass) {
  const Layout& layout = pass.layout;
  pending_.reset();  // of a pass that an error ended
  local_.describe(layout.local_rows(), pass.input,
                  [&layout](Index row) { return layout.position(row); });
  if (exchange_) exchange_->begin(layout, pass.input, pass.observer);
}

void SequenceParallel::embed(const Pass& pass) {
  const Index copies = pass.layout.replicated;
  const Slice local = pass.layout.local();
  pass.fabric.compute({"embedding", 0}, [&](Operations& counted) {
    const model::Embedding& embedding = model_.embedding();
    if (copies > 0)
      embedding(pass.input, {0, copies}, pass.x.rows(0, copies), patches_.view(), counted);
    embedding(pass.input, local, pass.x.rows(copies, local.size), patches_.view(), counted);
  });
}

void SequenceParallel::receive_input(const Pass& pass) {
  const auto rows = terminal_->receive(pass.layout.tokens(), exchange_.get(), pass.fabric);
  pass.fabric.compute({"distribute", 0}, [&](Operations&) { copy(rows, pass.x); });
}

void SequenceParallel::run_block(const Pass& pass, Index layer) {
  const int number = static_cast<int>(layer);
  const Index rows = pass.x.rows();
  const bool publishes = exchange_ != nullptr && layer + 1 < model_.config().layers;
  const Published published = publishes ? exchange_->published() : Published::block_output;

  project_local(pass, layer);
  if (exchange_) {
    arrive(pass, layer);
    pass.fabric.compute({"decode", number},
                        [&](Operations& counted) { exchange_->decode(layer, context_, counted); });
  }
  attend(pass, layer, published);
  if (published == Published::residual) publish(pass, layer + 1, pass.x);
  if (published == Published::attention_output) publish(pass, layer + 1, query_.first(rows));
  pass.fabric.compute({"finish", number}, [&](Operations& counted) {
    model_.block(layer).finish(pass.x, normed_.first(rows), ffn_.first(rows), counted);
  });
  report_hidden(pass, layer + 1);
  if (publishes && published == Published::block_output) publish(pass, layer + 1, pass.x);
}

void SequenceParallel::project_local(const Pass& pass, Index layer) {
  const model::Block& block = model_.block(layer);
  const Index rows = pass.x.rows();
  pass.fabric.compute({"project", static_cast<int>(layer)}, [&](Operations& counted) {
    const MatrixView<const float> input = block.kv_input(pass.x, normed_.first(rows), counted);
    block.project_query(input, query_.first(rows), counted);
    context_.clear();
    block.project_kv(input, context_.append(local_.log_counts(), local_.positions()), counted);
  });
}

/// x becomes z. When the attention's output is to be published it is left in place of the queries,
/// which nobody needs any more.
void SequenceParallel::attend(const Pass& pass, Index layer, Published published) {
  const model::Block& block = model_.block(layer);
  const Index rows = pass.x.rows();
  const MatrixView<float> attended = attended_.first(rows), query = query_.first(rows);
  pass.fabric.compute({"attention", static_cast<int>(layer)}, [&](Operations& counted) {
    attention_(query, context_, local_.positions(), attended, counted);
    if (published == Published::attention_output) {
      block.attention_output(attended, query, counted);
      block.residual(query, pass.x, counted);
    } else {
      block.attention_residual(attended, pass.x, counted);
    }
  });
}

/// rows [local_rows, hidden], of which those that the device owns are sent. They must stay as they
/// are until the exchange has arrived: a method may send them without a copy.
void SequenceParallel::publish(const Pass& pass, Index exchange, MatrixView<const float> rows) {
  const fabric::Payload payload = exchange_->encode(
      exchange, rows.rows(pass.layout.replicated, pass.layout.local_tokens()), pass.fabric);
  if (pass.observer != nullptr) pass.observer->on_published(exchange, payload.bytes);
  pending_.emplace(pass.fabric.all_gather(payload, exchange_->receive_buffer(exchange)));
  if (overlap_ == Overlap::no) arrive(pass, exchange);
}

/// Waits for the exchange unless that has been done.
void SequenceParallel::arrive(const Pass& pass, Index exchange) {
  if (!pending_) return;
  const fabric::Delivery delivery = pass.fabric.wait(*std::exchange(pending_, std::nullopt));
  for (int device = 0; device < pass.layout.devices(); ++device) {
    const std::int64_t arrived = std::ssize(delivery.from(device));
    const std::int64_t expected = exchange_->payload_bytes(exchange, device);
    TW_REQUIRE(arrived == expected, "device {} sent {} bytes in exchange {}, {} were expected",
               device, arrived, exchange, expected);
  }
}

void SequenceParallel::report_hidden(const Pass& pass, Index index) const {
  if (pass.observer == nullptr) return;
  // Of rows that every device has a copy of, the first device's is shown.
  const Index skipped = pass.layout.device == 0 ? 0 : pass.layout.replicated;
  const Index shown = pass.x.rows() - skipped;
  pass.observer->on_hidden(index, {pass.layout.position(skipped), shown},
                           pass.x.rows(skipped, shown));
}

}  // namespace thinwire::strategy
