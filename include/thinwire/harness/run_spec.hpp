#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thinwire/base/dtype.hpp"
#include "thinwire/base/json_fwd.hpp"
#include "thinwire/base/operations.hpp"
#include "thinwire/base/partition.hpp"
#include "thinwire/base/units.hpp"
#include "thinwire/compress/index_coding.hpp"
#include "thinwire/compress/row_format.hpp"
#include "thinwire/compress/segments.hpp"
#include "thinwire/cost/energy.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/link.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {

/// Samples of a data file.
struct SampleRange {
  Index first = 0, last = 0;  ///< both included
  Index count() const { return last - first + 1; }
};

/// One configuration: filled, checked (check_spec.hpp), then only read.
struct RunSpec {
  std::string model = "vit-base-16";  ///< preset, or a Hugging Face folder
  Index tokens = 0;                   ///< N of a text model; 0: the model's own
  std::string strategy = "single";
  int devices = 1;            ///< P
  int threads = 1;            ///< of one device
  DType dtype = DType::fp32;  ///< of products
  PartitionPolicy partition = PartitionPolicy::paper;
  std::vector<Index> rows;            ///< of partition=auto, one a device; resolved, not an option
  std::vector<double> slowness;       ///< empty: 1; else one for all or one a device
  std::vector<double> device_gflops;  ///< empty: unknown; else one for all or one a device
  std::vector<Bytes> memory;          ///< empty: no limit; else one for all or one a device
  std::vector<double> device_power;   ///< W while computing; empty: unknown
  std::vector<double> idle_power;     ///< W while waiting; empty: 0
  std::vector<double> radio_power;    ///< W on top while sending or receiving; empty: 0
  std::optional<Index> segments;      ///< L, prism
  std::optional<double> compression_rate;  ///< requested CR, prism, instead of L
  compress::Scaling scaling = compress::Scaling::on;
  compress::RowFormat payload = compress::RowFormat::fp32;            ///< voltage, prism
  Index groups = 1;                                                   ///< G, astra
  compress::IndexBits index_bits = compress::IndexBits::wide;         ///< astra
  compress::IndexCoding index_coding = compress::IndexCoding::fixed;  ///< astra, trace
  /// What the codebook's tables expect of an index, one an exchange; resolved, not an option. Empty
  /// where index_coding is fixed.
  std::vector<double> expected_index_bits;
  std::int64_t index_tables_bytes = 0;  ///< in memory, of all levels; resolved, not an option
  strategy::ClassToken class_token = strategy::ClassToken::partitioned;  ///< astra
  std::string codebook;            ///< file, or "random"; empty: random
  std::optional<Index> codewords;  ///< K of random codebooks
  std::optional<int> level;        ///< of the hierarchy, 0 the coarsest; else the finest
  bool is_level_auto = false;      ///< level=auto, until it is resolved
  /// Who chooses a level for every frame (level=adaptive, probing), with no `level` then.
  strategy::LevelControl level_control = strategy::LevelControl::fixed;
  std::optional<Index> active_codewords;              ///< K_m, another name of a level
  compress::Buffers buffers = compress::Buffers::kv;  ///< trace-b, trace-2a
  std::optional<bool> overlap;                        ///< nothing: as the strategy's paper
  int micro_batches = 1;                              ///< M, pipeline
  strategy::Io io = strategy::Io::replicated;
  strategy::Collect collect = strategy::Collect::last;       ///< by the terminal
  std::vector<std::vector<Rate>> rate{{Rate::unlimited()}};  ///< link settings of one record
  std::vector<fabric::RateTrace> rate_trace;                 ///< in the place of `rate`
  std::vector<Seconds> latency{Seconds{}};
  std::vector<fabric::Topology> topology{fabric::Topology::unicast};
  fabric::PacketOverhead overhead;  ///< of every link setting
  double loss = 0;                  ///< probability of a packet, of every link setting
  fabric::OnLoss on_loss = fabric::OnLoss::retransmit;
  fabric::Clock clock = fabric::Clock::emulated;
  Convention convention = Convention::paper;
  std::string input;                   ///< file; empty: a seeded random sample
  Index sample = 0;                    ///< index into the file
  std::string data;                    ///< eval: data file; empty: no evaluation
  std::optional<SampleRange> samples;  ///< eval: of the data file; nothing: all, until resolved
  std::string metric;                  ///< eval: empty: the data's own, until resolved
  std::optional<bool> agreement;       ///< a comparison with the single device; see below
  std::string outputs;
  bool hidden = false;  ///< hidden states into `outputs`, too
  int iterations = 10;
  int warmup = 2;
  std::uint64_t seed = 0;
  Index repeat = 0;  ///< tells equal points of a sweep apart, which then run once each
  bool cold_weights = false;
  Seconds timeout{600};  ///< of the watchdog; 0: none
  std::string json;      ///< result file, or "-"
  std::string trace;     ///< timeline file

  /// Every link setting: rate (or trace) runs fastest, then latency, then topology.
  std::vector<fabric::Link> links() const;
  /// What becomes of lost packets; retransmit where none is lost.
  fabric::OnLoss loss_policy() const;
  /// The per-device values, one a device.
  std::vector<double> slowness_per_device() const;
  std::vector<double> flops_per_s_per_device() const;  ///< empty when unknown
  std::vector<Bytes> memory_per_device() const;        ///< empty when unlimited
  /// Whether rows arrive as they were sent, which an exact strategy is exact by.
  bool sends_rows_exactly() const { return payload == compress::RowFormat::fp32; }
  /// What PartitionPolicy::weighted goes by: device rates (1 when unknown) over slowness.
  std::vector<double> speed_per_device() const;
  /// Weights of the partition: speeds, or the rows of partition=auto (speeds as long as they are
  /// not resolved); empty for policies without.
  std::vector<double> partition_weights() const;
  /// What devices draw, one a device; empty when no power of computing is given.
  std::vector<cost::Powers> powers_per_device() const;

  /// What is sent depends on the link, so that each link setting takes an execution of its own.
  bool depends_on_link() const { return level_control != strategy::LevelControl::fixed; }
  /// An evaluation of a data set models time as well: what is sent depends on the link, or its rate
  /// follows a trace. Samples are then one stream, one a time, in the order of the file.
  bool has_timed_evaluation() const { return depends_on_link() || !rate_trace.empty(); }
  bool has_terminal() const { return io == strategy::Io::terminal; }
  /// MPI ranks that it takes: the devices, and the terminal.
  int ranks() const { return devices + (has_terminal() ? 1 : 0); }
  /// Where nothing is said, real input and outputs that are kept are worth the two passes.
  bool wants_agreement() const { return agreement.value_or(!input.empty() || !outputs.empty()); }
  bool has_codebook_file() const { return !codebook.empty() && codebook != "random"; }
};

/// How a list of values of a field spreads.
enum class Expansion {
  numbers,  ///< lists and ranges become points
  names,    ///< lists become points
  links,    ///< link settings of one record (one point each on a wall clock)
  devices,  ///< one value a device
  whole,    ///< a file or a duration: commas belong to it
};

/// One field, named once: flags, JSON keys and help come from the list of these.
struct Field {
  std::string_view name;      ///< flag without "--", and JSON key
  std::string_view argument;  ///< what the help shows behind it; empty for a switch
  std::string_view help;
  Expansion expansion;
  bool is_recorded;  ///< false for what concerns only this machine
  /// Left out of spec_id while it has its default, so that ids outlive the coming of an option.
  bool is_in_id_by_default;
  /// Left out of a record's spec while it has its default: nothing of what is in it happened.
  bool is_recorded_by_default;
  bool is_of_data;  ///< concerns the evaluation of a data set alone, not single runs
  std::function<void(RunSpec&, std::string_view)> assign;  ///< throws InputError with the reason
  std::function<Json(const RunSpec&)> to_json;             ///< null when not given
};
std::span<const Field> run_fields();
/// Throws InputError with a suggestion for an unknown name.
const Field& find_field(std::string_view name);

/// Names without dashes, and values as flags have them; a switch may have "".
using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// Fills a spec: each value is read, what they mean together is not checked. Without `strategy`,
/// several devices mean voltage, or prism when segments or a compression rate are given.
/// Throws InputError: "--rate=0Mbps: <why, and what would be right>".
RunSpec fill_run_spec(const KeyValues& given);
/// The same, checked as far as it goes without model and codebook file; random codebooks are
/// resolved (codebook_choice.hpp).
RunSpec make_run_spec(const KeyValues& given);
/// The same from an object; null values count as not given.
RunSpec run_spec_from_json(const Json& object);
KeyValues key_values(const Json& object);

/// The completed spec for a record: model, input and codebook by base name, no paths; codebook,
/// buffers and overlap as they really are, null for strategies that they do not concern.
Json to_json(const RunSpec& spec);

/// What tells apart files that a spec only names.
struct Fingerprints {
  std::string model;     ///< of the weights; a preset's follows from the spec and is left out
  std::string codebook;  ///< of the set; that of random ones follows from the spec, too
  std::string data;      ///< of the data file, if there is one
};

/// Identifies a point of a sweep: 16 hex digits from the record's spec (but for the timeout, which
/// changes no result), the source, "measured" or "predicted", and the fingerprints. A spec with a
/// codebook file must be resolved (codebook_choice.hpp).
std::string spec_id(const RunSpec& spec, std::string_view source, const Fingerprints& fingerprints);

}  // namespace thinwire::harness
