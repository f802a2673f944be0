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
                                   std::vector<Layout> layouts,
                                   std::vector<std::unique_ptr<Exchange>> exchanges,
                                   Index max_columns, Overlap overlap,
                                   std::optional<TerminalLink> terminal)
    : model_(model),
      layouts_(std::move(layouts)),
      overlap_(overlap),
      terminal_(std::move(terminal)),
      rows_(std::ssize(exchanges) * most_local_rows(layouts_)),
      x_(rows_, model.config().hidden, role.memory),
      normed_(rows_, model.config().hidden, role.memory),
      query_(rows_, model.config().hidden, role.memory),
      attended_(rows_, model.config().hidden, role.memory),
      ffn_(rows_, model.config().ffn, role.memory),
      patches_(model.config().is_text() ? 0 : most_local_rows(layouts_),
               model.config().patch_inputs(), role.memory),
      kv_(exchanges.size() > 1 ? rows_ : 0, 2 * model.config().hidden, role.memory),
      attention_(model.config().heads, model.config().head_dim(), mask_of(model.config()),
                 most_local_rows(layouts_), max_columns, role.threads, role.memory),
      head_(model, role, layouts_) {
  for (std::unique_ptr<Exchange>& exchange : exchanges)
    samples_.push_back({std::move(exchange), TokenColumns(most_local_rows(layouts_), role.memory),
                        ops::KvContext(max_columns, model.config().hidden, role.memory)});
  sizes_.resize(static_cast<std::size_t>(role.devices));
}

Output SequenceParallel::forward(const model::ModelInput& input, fabric::Fabric& fabric,
                                 Observer* observer) {
  const BatchItem alone{&input, observer};
  Output output;
  run({&alone, 1}, fabric, [&output](std::size_t, const Output& its) { output = its; });
  return output;
}

void SequenceParallel::forward_batch(std::span<const BatchItem> batch, fabric::Fabric& fabric,
                                     const OutputReader& read) {
  if (terminal_) return Strategy::forward_batch(batch, fabric, read);
  TW_REQUIRE(batch.size() <= samples_.size(), "a batch of {} where {} were announced", batch.size(),
             samples_.size());
  if (batch.empty()) return;
  run(batch, fabric, read);
}

void SequenceParallel::run(std::span<const BatchItem> batch, fabric::Fabric& fabric,
                           const OutputReader& read) {
  const Pass pass = begin(batch, fabric);
  if (terminal_) {
    receive_input(pass);  // exchange 0 comes with it
    report_hidden(pass, 0);
  } else {
    embed(pass);
    report_hidden(pass, 0);
    if (pass.has_exchanges()) publish(pass, 0, pass.x);
  }
  for (Index layer = 0; layer < model_.config().layers; ++layer) run_block(pass, layer);
  for (std::size_t item = 0; item < batch.size(); ++item) {
    const Sample& sample = pass.samples[item];
    const Output output = head_(*sample.layout, *sample.input, sample.of(pass.x), fabric);
    read(item, terminal_ ? terminal_->send(sample.layout->tokens(), output, fabric) : output);
  }
}

SequenceParallel::Pass SequenceParallel::begin(std::span<const BatchItem> batch,
                                               fabric::Fabric& fabric) {
  const std::span<Sample> samples = std::span(samples_).first(batch.size());
  Index rows = 0;
  for (std::size_t item = 0; item < batch.size(); ++item) {
    const model::ModelInput& input = *batch[item].input;
    const Layout& layout = layout_of(layouts_, input.tokens(model_.config()));
    Sample& sample = samples[item];
    sample.layout = &layout;
    sample.input = &input;
    sample.observer = batch[item].observer;
    sample.rows = {rows, layout.local_rows()};
    sample.pending.reset();  // of a pass that an error ended
    sample.number = batch[item].number;
    // Where the peers' real tokens may all be lost, a device may have nothing but padding to see.
    sample.local.describe(
        layout.local_rows(), input, [&layout](Index row) { return layout.position(row); },
        fabric.drops_packets() ? TokenColumns::kLastResort : TokenColumns::kHidden);
    if (sample.exchange) sample.exchange->begin(layout, input, sample.observer);
    rows += layout.local_rows();
  }
  return {samples, x_.first(rows), fabric};
}

void SequenceParallel::embed(const Pass& pass) {
  const model::Embedding& embedding = model_.embedding();
  pass.fabric.compute({"embedding", 0}, [&](Operations& counted) {
    for (const Sample& sample : pass.samples) {
      const Index copies = sample.layout->replicated;
      const Slice local = sample.layout->local();
      const MatrixView<float> x = sample.of(pass.x);
      if (copies > 0)
        embedding(*sample.input, {0, copies}, x.rows(0, copies), patches_.view(), counted);
      embedding(*sample.input, local, x.rows(copies, local.size), patches_.view(), counted);
    }
  });
}

void SequenceParallel::receive_input(const Pass& pass) {
  Sample& sample = pass.samples.front();
  const auto rows = terminal_->receive(sample.layout->tokens(), sample.exchange.get(), pass.fabric);
  if (sample.exchange) {
    note_sizes(sample, 0);
    sample.arrived = {sample.exchange->receive_buffer(0), sizes_};
  }
  pass.fabric.compute({"distribute", 0}, [&](Operations&) { copy(rows, pass.x); });
}

void SequenceParallel::run_block(const Pass& pass, Index layer) {
  const Index rows = pass.x.rows();
  const bool publishes = pass.has_exchanges() && layer + 1 < model_.config().layers;
  const Published published =
      publishes ? pass.samples.front().exchange->published() : Published::block_output;

  project_local(pass, layer);
  if (pass.has_exchanges()) {
    arrive(pass);
    decode(pass, layer);
  }
  attend(pass, layer, published);
  if (published == Published::residual) publish(pass, layer + 1, pass.x);
  if (published == Published::attention_output) publish(pass, layer + 1, query_.first(rows));
  pass.fabric.compute({"finish", static_cast<int>(layer)}, [&](Operations& counted) {
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
    project_kv(pass, layer, input, counted);
  });
}

/// Into the contexts: of one sample directly, of several by way of the stack, since the copy costs
/// less than a product for every sample.
void SequenceParallel::project_kv(const Pass& pass, Index layer, MatrixView<const float> input,
                                  Operations& counted) {
  const auto restart = [](Sample& sample) {
    sample.context.clear();
    return sample.context.append(sample.local.log_counts(), sample.local.positions());
  };
  const model::Block& block = model_.block(layer);
  if (pass.samples.size() == 1)
    return block.project_kv(input, restart(pass.samples.front()), counted);
  const MatrixView<float> kv = kv_.first(input.rows());
  block.project_kv(input, kv, counted);
  for (Sample& sample : pass.samples) copy<float>(sample.of(kv), restart(sample));
}

void SequenceParallel::decode(const Pass& pass, Index layer) {
  pass.fabric.compute({"decode", static_cast<int>(layer)}, [&](Operations& counted) {
    for (Sample& sample : pass.samples)
      sample.exchange->decode(layer, sample.arrived, sample.context, counted);
  });
  if (!pass.fabric.drops_packets()) return;
  for (const Sample& sample : pass.samples)
    pass.fabric.count_lost_rows(sample.exchange->losses().rows, sample.exchange->losses().lost);
}

/// x becomes z. When the attention's output is to be published it is left in place of the queries,
/// which nobody needs any more.
void SequenceParallel::attend(const Pass& pass, Index layer, Published published) {
  const model::Block& block = model_.block(layer);
  const Index rows = pass.x.rows();
  const MatrixView<float> attended = attended_.first(rows), query = query_.first(rows);
  pass.fabric.compute({"attention", static_cast<int>(layer)}, [&](Operations& counted) {
    for (const Sample& sample : pass.samples)
      attention_(sample.of(query), sample.context, sample.local.positions(), sample.of(attended),
                 counted);
    if (published == Published::attention_output) {
      block.attention_output(attended, query, counted);
      block.residual(query, pass.x, counted);
    } else {
      block.attention_residual(attended, pass.x, counted);
    }
  });
}

/// rows [rows of all samples, hidden], of which those that the device owns are sent. They must stay
/// as they are until the exchange has arrived: a method may send them without a copy.
void SequenceParallel::publish(const Pass& pass, Index exchange, MatrixView<const float> rows) {
  for (Sample& sample : pass.samples) {
    const Layout& layout = *sample.layout;
    const fabric::Payload payload = sample.exchange->encode(
        exchange, sample.of(rows).rows(layout.replicated, layout.local_tokens()), pass.fabric);
    if (sample.observer != nullptr) sample.observer->on_published(exchange, payload.bytes);
    std::span<const std::int64_t> sizes;
    if (sample.exchange->has_fixed_sizes(exchange)) {
      note_sizes(sample, exchange);
      sizes = sizes_;
    }
    const fabric::ExchangeNumber number{sample.number, static_cast<std::uint64_t>(exchange)};
    sample.pending.emplace(
        pass.fabric.all_gather(payload, sample.exchange->receive_buffer(exchange), sizes, number));
  }
  if (overlap_ == Overlap::no) arrive(pass);
}

/// Waits for the exchange unless that has been done.
void SequenceParallel::arrive(const Pass& pass) {
  for (Sample& sample : pass.samples)
    if (sample.pending)
      sample.arrived = pass.fabric.wait(*std::exchange(sample.pending, std::nullopt));
}

void SequenceParallel::note_sizes(const Sample& sample, Index exchange) {
  for (int device = 0; device < sample.layout->devices(); ++device)
    sizes_[static_cast<std::size_t>(device)] = sample.exchange->payload_bytes(exchange, device);
}

void SequenceParallel::report_hidden(const Pass& pass, Index index) const {
  for (const Sample& sample : pass.samples) {
    if (sample.observer == nullptr) continue;
    const Layout& layout = *sample.layout;
    // Of rows that every device has a copy of, the first device's is shown.
    const Index skipped = layout.device == 0 ? 0 : layout.replicated;
    const Index shown = sample.rows.size - skipped;
    sample.observer->on_hidden(index, {layout.position(skipped), shown},
                               sample.of(pass.x).rows(skipped, shown));
  }
}

}  // namespace thinwire::strategy
