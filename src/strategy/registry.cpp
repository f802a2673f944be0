#include <array>

#include "thinwire/base/named.hpp"
#include "thinwire/base/table.hpp"
#include "thinwire/strategy/astra.hpp"
#include "thinwire/strategy/member.hpp"
#include "thinwire/strategy/pipeline.hpp"
#include "thinwire/strategy/prism.hpp"
#include "thinwire/strategy/registration.hpp"
#include "thinwire/strategy/tensor_parallel.hpp"
#include "thinwire/strategy/trace.hpp"
#include "thinwire/strategy/trace_nb.hpp"
#include "thinwire/strategy/voltage.hpp"

namespace thinwire::strategy {
namespace {

using compress::Buffers;
using compress::CodebookUse;
using compress::Published;

constexpr CodebookUse kAstra{.published = Published::block_output};
constexpr CodebookUse kTraceB{.published = Published::residual, .buffers = Buffers::kv};
constexpr CodebookUse kTrace2a{
    .published = Published::residual, .codes_first_exchange = false, .buffers = Buffers::kv};
constexpr CodebookUse kTraceNb{.published = Published::attention_output,
                               .codes_first_exchange = false};
constexpr CodebookUse kTrace1b{.published = Published::attention_output};

std::unique_ptr<Strategy> make_single(const model::Model& model, const StrategyOptions& options,
                                      const DeviceRole& role) {
  require_input(role.devices == 1, "strategy=single with devices={} (it has one)", role.devices);
  return make_member(model, options, role, {});
}

std::unique_ptr<Strategy> make_voltage(const model::Model& model, const StrategyOptions& options,
                                       const DeviceRole& role) {
  return make_member(model, options, role, {.make_exchange = [&](auto layouts) {
                       return std::make_unique<VoltageExchange>(model, role, options, layouts);
                     }});
}

std::unique_ptr<Strategy> make_prism(const model::Model& model, const StrategyOptions& options,
                                     const DeviceRole& role) {
  const auto columns = [&options](const Layout& layout) {
    if (options.scaling == compress::Scaling::duplicate) return layout.tokens();
    const Index segments = segments_for(options, layout.tokens(), layout.devices());
    return layout.local_tokens() + (layout.devices() - 1) * segments;
  };
  return make_member(model, options, role,
                     {.make_exchange =
                          [&](auto layouts) {
                            return std::make_unique<PrismExchange>(model, role, options, layouts);
                          },
                      .columns = columns});
}

/// The codebooks must have been made for what the strategy does with them; groups are ASTRA's
/// choice, buffers that of the strategies which have some.
void check_codebooks(const compress::CodebookSet* codebooks, const CodebookUse& needed) {
  TW_REQUIRE(codebooks != nullptr, "a strategy that sends indices was given no codebooks");
  CodebookUse fitting = codebooks->use();
  if (needed.is_squared()) fitting.groups = needed.groups;
  if (needed.buffers != Buffers::off) fitting.buffers = needed.buffers;
  TW_REQUIRE(fitting == needed, "a strategy was given the codebooks of another");
}

/// Leading tokens that every device has a copy of.
Index replicated_tokens(const model::ModelConfig& config, const StrategyOptions& options) {
  if (options.class_token == ClassToken::partitioned) return 0;
  require_input(config.head == model::HeadKind::class_token,
                "class-token=replicated for {}, whose answer is not read off a class token: it "
                "needs a ViT or ViViT",
                config.name);
  return 1;
}

/// Strategies that send indices; with one device nothing is sent and no codebook needed.
template <class Coder, const CodebookUse& needed>
std::unique_ptr<Strategy> make_indexed(const model::Model& model, const StrategyOptions& options,
                                       const DeviceRole& role) {
  const auto make_exchange = [&](auto layouts) {
    check_codebooks(options.codebooks, needed);
    return std::make_unique<Coder>(model, role, options, layouts);
  };
  return make_member(
      model, options, role,
      {.replicated = needed.is_squared() ? replicated_tokens(model.config(), options) : 0,
       .overlaps = !needed.is_squared(),
       .make_exchange = make_exchange});
}

constexpr std::array kStrategies = {
    StrategyEntry{"single", "one device runs every token", make_single, {}, false, true},
    StrategyEntry{
        "voltage", "tokens split, full activations exchanged; exact", make_voltage, {}, true, true},
    StrategyEntry{"prism", "tokens split, segment means exchanged", make_prism, {}},
    StrategyEntry{"astra", "tokens split, block outputs exchanged as codeword indices",
                  make_indexed<AstraExchange, kAstra>, kAstra},
    StrategyEntry{"trace-b", "tokens split, indices behind attention, K and V looked up",
                  make_indexed<TraceExchange, kTraceB>, kTraceB},
    StrategyEntry{"trace-nb", "tokens split, attention sent as indices, peers' states followed",
                  make_indexed<TraceNbExchange, kTraceNb>, kTraceNb},
    StrategyEntry{"trace-2a", "trace-b that sends the embeddings in full",
                  make_indexed<TraceExchange, kTrace2a>, kTrace2a},
    StrategyEntry{"trace-1b", "trace-nb that sends the embeddings as indices",
                  make_indexed<TraceNbExchange, kTrace1b>, kTrace1b},
    StrategyEntry{"tensor",
                  "heads and feed-forward columns split, sums all-reduced; exact",
                  make_tensor_parallel,
                  {},
                  false,
                  true},
    StrategyEntry{"pipeline",
                  "blocks split, micro-batches passed from stage to stage; exact",
                  make_pipeline,
                  {},
                  false,
                  true}};

/// Those above, and what the program has registered.
Table<StrategyEntry>& table() {
  static Table<StrategyEntry> table(kStrategies);
  return table;
}

}  // namespace

Registration::Registration(const StrategyEntry& entry) : name_(entry.name) {
  table().add(entry);
}

Registration::~Registration() {
  table().remove(name_);
}

std::span<const StrategyEntry> strategies() {
  return table().entries();
}

std::vector<std::string_view> strategy_names() {
  std::vector<std::string_view> names;
  for (const StrategyEntry& entry : strategies()) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const model::Model& model,
                                        const StrategyOptions& options, const DeviceRole& role) {
  return find_named("strategy", name, strategies()).make(model, options, role);
}

}  // namespace thinwire::strategy
