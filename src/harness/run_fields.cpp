#include <algorithm>
#include <limits>

#include "field_values.hpp"

namespace thinwire::harness {
namespace {

enum class Recorded { no, yes, unless_default_in_id, unless_default };

template <class Value>
Field make_field(std::string_view name, std::string_view argument, std::string_view help,
                 Value RunSpec::*member, Expansion expansion, Recorded recorded = Recorded::yes) {
  return {
      .name = name,
      .argument = argument,
      .help = help,
      .expansion = expansion,
      .is_recorded = recorded != Recorded::no,
      .is_in_id_by_default = recorded == Recorded::no || recorded == Recorded::yes,
      .is_recorded_by_default = recorded != Recorded::unless_default,
      .is_of_data = false,
      .assign = [member](RunSpec& spec, std::string_view text) { parse_value(text, spec.*member); },
      .to_json = [member](const RunSpec& spec) { return value_json(spec.*member); }};
}

void assign_level(RunSpec& spec, std::string_view text) {
  spec.is_level_auto = text == "auto";
  spec.level_control = strategy::parse_level_control(text);
  if (spec.is_level_auto || spec.level_control != strategy::LevelControl::fixed)
    spec.level.reset();
  else
    parse_value(text, spec.level);
}

/// A number, who chooses it, or "auto" until the codebook is resolved.
Json level_json(const RunSpec& spec) {
  if (spec.level_control != strategy::LevelControl::fixed)
    return strategy::to_string(spec.level_control);
  return spec.is_level_auto ? Json("auto") : value_json(spec.level);
}

/// One that came after records had been written.
template <class Value>
Field make_new_field(std::string_view name, std::string_view argument, std::string_view help,
                     Value RunSpec::*member, Expansion expansion) {
  return make_field(name, argument, help, member, expansion, Recorded::unless_default_in_id);
}

/// One that a record names only where it is used.
template <class Value>
Field make_extra_field(std::string_view name, std::string_view argument, std::string_view help,
                       Value RunSpec::*member, Expansion expansion) {
  return make_field(name, argument, help, member, expansion, Recorded::unless_default);
}

/// One of `eval` alone.
template <class Value>
Field make_data_field(std::string_view name, std::string_view argument, std::string_view help,
                      Value RunSpec::*member) {
  Field field = make_new_field(name, argument, help, member, Expansion::whole);
  field.is_of_data = true;
  return field;
}

Field make_level_field() {
  Field field = make_new_field(
      "level", "M|auto|adaptive|probing",
      "trace: sub-codebook in use, 0 the coarsest; coarser levels send fewer bits and search less "
      "(the finest without it); auto: the finest whose messages local work hides by formula; "
      "adaptive: chosen for every message from the measured rate; probing: from trials",
      &RunSpec::level, Expansion::numbers);
  field.assign = assign_level;
  field.to_json = level_json;
  return field;
}

Field make_loss_field() {
  Field field = make_new_field("loss", "P",
                               "probability with which the link loses a packet, 0.05 or 5%: of "
                               "--overhead's payload, or of 1448 bytes",
                               &RunSpec::loss, Expansion::numbers);
  field.assign = [](RunSpec& spec, std::string_view text) {
    const bool is_percent = text.ends_with('%');
    spec.loss =
        is_percent ? parse_number(text.substr(0, text.size() - 1)) / 100 : parse_number(text);
    require_input(
        spec.loss >= 0 && spec.loss < 1,
        "a probability from 0 to below 1 (write 0.05 or 5%): with 1 nothing ever arrives");
  };
  return field;
}

std::vector<Field> work_fields() {
  using enum Expansion;
  return {
      make_field("model", "NAME|FOLDER", "preset, or folder with config.json and model.safetensors",
                 &RunSpec::model, names),
      make_field("tokens", "N", "length of a text model's input (0: the model's own)",
                 &RunSpec::tokens, numbers),
      make_field("strategy", "NAME",
                 "how devices share the work, see `list`; without it several devices mean "
                 "voltage, or prism when segments are given",
                 &RunSpec::strategy, names),
      make_field("devices", "P", "number of devices, one MPI rank each", &RunSpec::devices,
                 numbers),
      make_field("threads", "T", "threads of each device", &RunSpec::threads, numbers),
      make_new_field("dtype", "fp32|bf16",
                     "what matrix products multiply: fp32, or weights and rows rounded to bf16 "
                     "(needs AVX-512 BF16); sums, results and messages stay fp32",
                     &RunSpec::dtype, names),
      make_field("partition", "paper|balanced|weighted|auto",
                 "how tokens are split; auto: for the lowest modelled latency (needs "
                 "--device-gflops)",
                 &RunSpec::partition, names),
      make_field("slowness", "X,...", "factor of compute time, for all or a device each",
                 &RunSpec::slowness, devices),
      make_field("device-gflops", "X,...", "GFLOP/s for modelled time, for all or a device each",
                 &RunSpec::device_gflops, devices),
      make_field("memory", "SIZE,...", "memory limit such as 512MB, for all or a device each",
                 &RunSpec::memory, devices),
      make_new_field("device-power", "W,...",
                     "watts of a device while it computes, for all or a device each: energy is "
                     "reported",
                     &RunSpec::device_power, devices),
      make_new_field("idle-power", "W,...", "watts of a device while it waits (0 without it)",
                     &RunSpec::idle_power, devices),
      make_new_field("radio-power", "W,...",
                     "watts more while a device sends or receives (0 without it)",
                     &RunSpec::radio_power, devices),
  };
}

std::vector<Field> strategy_fields() {
  using enum Expansion;
  return {
      make_field("segments", "L", "prism: means that a device publishes", &RunSpec::segments,
                 numbers),
      make_field("compression-rate", "CR", "prism: L = floor(N / (CR P)) instead of segments",
                 &RunSpec::compression_rate, numbers),
      make_field("scaling", "on|off|duplicate", "prism: how a mean counts in the softmax",
                 &RunSpec::scaling, names),
      make_extra_field("payload", "fp32|fp16|bf16|int8",
                       "voltage, prism: how rows are sent; int8 with an fp32 scale a row. All but "
                       "fp32 change the answer",
                       &RunSpec::payload, names),
      make_new_field("groups", "G", "astra: codebooks a row, each for D / G columns",
                     &RunSpec::groups, numbers),
      make_new_field("index-bits", "16|packed", "astra: bits of an index on the wire",
                     &RunSpec::index_bits, names),
      make_new_field("index-coding", "fixed|entropy|cross-layer",
                     "astra, trace: bits of an index on the wire: all alike, fewer for frequent "
                     "ones, or fewer for what usually follows the token's index at the exchange "
                     "before; same answers, needs a codebook file with tables",
                     &RunSpec::index_coding, names),
      make_new_field("class-token", "partitioned|replicated",
                     "astra: replicated gives every device a copy that is never sent",
                     &RunSpec::class_token, names),
      make_new_field("codebook", "FILE|random",
                     "astra, trace: codebooks from `codebook train`; random ones (the default) "
                     "serve timing, not answers",
                     &RunSpec::codebook, names),
      make_new_field("codewords", "K", "astra, trace: rows of random codebooks (1024 without it)",
                     &RunSpec::codewords, numbers),
      make_level_field(),
      make_new_field("active-codewords", "K_m", "trace: the level by its number of codewords",
                     &RunSpec::active_codewords, numbers),
      make_new_field("buffers", "kv|hidden|off",
                     "trace-b, trace-2a: what is precomputed for each codeword: K and V, the "
                     "block's output, or nothing",
                     &RunSpec::buffers, names),
      make_new_field("overlap", "on|off",
                     "compute on local rows while messages travel (on for trace, off for the "
                     "others, as in their papers)",
                     &RunSpec::overlap, names),
      make_new_field("micro-batches", "M", "pipeline: inputs in flight", &RunSpec::micro_batches,
                     numbers),
      make_new_field("io", "replicated|terminal",
                     "who holds the input: every device, or one rank more that distributes it and "
                     "collects the answer",
                     &RunSpec::io, names),
      make_new_field("collect", "last|all",
                     "with --io=terminal, language models: the last row's logits, or every row's",
                     &RunSpec::collect, names),
  };
}

std::vector<Field> link_fields() {
  using enum Expansion;
  return {
      make_field("rate", "RATE,...",
                 "link settings such as 10Mbps, unlimited, 1Mbps..1000Mbps:log:10, or "
                 "10Mbps:10Mbps:1Mbps for a rate a device",
                 &RunSpec::rate, links),
      make_new_field("rate-trace", "FILE,...",
                     "link settings whose rate changes, in the place of --rate: lines such as "
                     "'1.5 s, 10 Mbps' from 0 s on, each until the next; the trace repeats, and "
                     "iterations begin spread over it",
                     &RunSpec::rate_trace, links),
      make_field("latency", "TIME,...", "latency of a message, such as 2ms", &RunSpec::latency,
                 links),
      make_field("topology", "broadcast|unicast|shared", "how messages share the medium",
                 &RunSpec::topology, links),
      make_new_field("overhead", "none|tcp|66B/1448B",
                     "headers that travel with every message: bytes a packet / payload a packet",
                     &RunSpec::overhead, names),
      make_loss_field(),
      make_new_field("on-loss", "retransmit|skip|reuse",
                     "a lost packet is sent again, or the tokens that it was about are left out, "
                     "or what the exchange before said of them stands in",
                     &RunSpec::on_loss, names),
  };
}

std::vector<Field> measurement_fields() {
  using enum Expansion;
  return {
      make_field("clock", "emulated|modelled|throttled|native",
                 "whose time is reported, see `list`", &RunSpec::clock, names),
      make_field("convention", "paper|mac|full", "how operations become FLOPs",
                 &RunSpec::convention, names),
      make_field("input", "FILE", "JPEG, PNG or safetensors data (a random sample without it)",
                 &RunSpec::input, whole),
      make_field("sample", "I", "sample of the input file, from 0", &RunSpec::sample, numbers),
      make_new_field("agreement", "on|off",
                     "compare outputs and hidden states with the single device's, in untimed "
                     "passes that need no labels (on with --input or --outputs, else off)",
                     &RunSpec::agreement, names),
      make_field("outputs", "FILE", "write logits or embeddings to this safetensors file",
                 &RunSpec::outputs, whole, Recorded::no),
      make_field("hidden", "", "write hidden states to the outputs, too", &RunSpec::hidden, names,
                 Recorded::no),
      make_field("iterations", "N", "reported iterations", &RunSpec::iterations, numbers),
      make_field("warmup", "N", "iterations before the reported ones", &RunSpec::warmup, numbers),
      make_field("seed", "N", "of random weights and inputs", &RunSpec::seed, numbers),
      make_new_field("repeat", "I", "number of a repetition: lets a sweep run equal points again",
                     &RunSpec::repeat, numbers),
      make_field("cold-weights", "", "empty the caches before each device's turn",
                 &RunSpec::cold_weights, names),
      make_field("timeout", "TIME", "end a run that makes no progress for so long (0: never)",
                 &RunSpec::timeout, whole),
      make_field("json", "FILE|-", "append the records to this file, or print them", &RunSpec::json,
                 whole, Recorded::no),
      make_field("trace", "FILE", "write a timeline for Perfetto", &RunSpec::trace, whole,
                 Recorded::no),
  };
}

std::vector<Field> data_fields() {
  return {
      make_data_field("data", "FILE", "safetensors data file whose samples are evaluated",
                      &RunSpec::data),
      make_data_field("samples", "FIRST..LAST", "which of its samples (all without it)",
                      &RunSpec::samples),
      make_data_field("metric", "NAME",
                      "what the answers are summed up to; what the data's labels allow without it",
                      &RunSpec::metric),
  };
}

std::vector<Field> make_fields() {
  std::vector<Field> fields;
  for (const auto& group :
       {work_fields(), strategy_fields(), link_fields(), measurement_fields(), data_fields()})
    fields.insert(fields.end(), group.begin(), group.end());
  return fields;
}

}  // namespace

std::span<const Field> run_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

const Field& find_field(std::string_view name) {
  const std::span<const Field> fields = run_fields();
  const auto field = std::ranges::find(fields, name, &Field::name);
  if (field != fields.end()) return *field;
  std::vector<std::string_view> names;
  for (const Field& known : fields) names.push_back(known.name);
  throw InputError(fmt::format("unknown option '{}'{}", name, suggestion(name, names)));
}

}  // namespace thinwire::harness
