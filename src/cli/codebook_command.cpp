#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/units.hpp"
#include "thinwire/harness/codebook_coding.hpp"
#include "thinwire/harness/codebook_info.hpp"
#include "thinwire/harness/codebook_training.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire codebook train --model DIR --input FILE --samples 0..999 --out FILE "
    "[OPTIONS]\n"
    "       thinwire codebook coding FILE --model DIR --input FILE --samples 0..999 [OPTIONS]\n"
    "       thinwire codebook info FILE --model DIR [OPTIONS]\n\n"
    "train   makes the codebooks that a strategy codes its exchanges with, from calibration data\n"
    "coding  adds the tables of --index-coding to codebooks that were made without\n"
    "info    shows what a codebook file holds and, with --input, how well it codes\n\n"
    "thinwire codebook train --help and the like explain the options.\n";

constexpr const char* kTrainUsage =
    "usage: thinwire codebook train --model DIR --input FILE --samples 0..999 --out FILE "
    "[OPTIONS]\n\n"
    "Runs the strategy on calibration data and fits its codebooks to what devices would send:\n"
    "k-means on the first batch, exchange after exchange, then one update a batch; at last the\n"
    "tables of --index-coding. Under mpirun the ranks share the samples; each simulates all\n"
    "devices.\n\n"
    "example:\n"
    "  thinwire codebook train --model FOLDER --input data.safetensors --samples 0..999 \\\n"
    "                          --strategy trace-b --devices 2 --codewords 512 --out "
    "trace.safetensors\n";

constexpr const char* kCodingUsage =
    "usage: thinwire codebook coding FILE --model DIR --input FILE --samples 0..999 [OPTIONS]\n\n"
    "Counts how often the indices of a codebook file occur and follow each other in calibration\n"
    "data, and adds tables of it to the file: what --index-coding=entropy and cross-layer need.\n"
    "codebook train does the same with its own samples. Under mpirun the ranks share the\n"
    "samples.\n\n"
    "example:\n"
    "  thinwire codebook coding trace.safetensors --model FOLDER --input data.safetensors \\\n"
    "                           --samples 0..999\n";

constexpr const char* kInfoUsage =
    "usage: thinwire codebook info FILE --model DIR [OPTIONS]\n\n"
    "Shows levels, storage, calibration time and how the file was made; where there are tables of\n"
    "indices, how many bits --index-coding takes of every exchange. With --input also, for every\n"
    "exchange and level, how many codewords are used, the perplexity of their use, and the\n"
    "distortion: mean 1 - cosine of row and codeword (trace), relative squared error (astra).\n\n"
    "example:\n"
    "  thinwire codebook info trace.safetensors --model FOLDER --input data.safetensors \\\n"
    "                         --samples 1000..1099\n";

void add_common(OptionParser& parser) {
  parser.add("model", "DIR", "Hugging Face folder, or a preset with random weights");
  parser.add("input", "FILE", "data file of calibration samples");
  parser.add("samples", "FIRST..LAST", "which of its samples");
  parser.add("tokens", "N", "window of a file of bytes (default: the model's positions)");
  parser.add("strategy", "NAME", "trace-b, trace-2a, trace-nb, trace-1b or astra");
  parser.add("devices", "P", "simulated devices");
  parser.add("groups", "G", "groups of columns with codebooks of their own (astra; default 1)");
  parser.add("threads", "N", "threads of one device (default 1)");
}

int train_command(const Arguments& arguments, const std::vector<std::string>& words) {
  OptionParser parser(kTrainUsage);
  add_common(parser);
  parser.add("codewords", "K", "of each codebook (default 1024)");
  parser.add("batch", "N", "samples of an update, all ranks together (default 64)");
  parser.add("epochs", "N", "times that all samples are used (default 1)");
  parser.add("update", "NAME", "ema, subspace, gradient or kmeans (default ema)");
  parser.add("subspace-width", "N", "axes of --update subspace (default 256)");
  parser.add("levels", "K1,K2,...,K", "sizes of the hierarchy (default 2,4,8,32 below K, then K)");
  parser.add("hierarchy", "NAME", "euclidean, cosine or usage (default euclidean)");
  parser.add("seed", "N", "of shuffling, k-means and re-seeding (default 0)");
  parser.add("out", "FILE", "codebook file to write");
  parser.add("resume", "", "go on where a training with the same settings stopped");
  const OptionParser::Parsed parsed = parser.parse(words);
  if (parsed.is_help) return 0;

  const harness::CodebookTrainingSpec spec = harness::make_training_spec(parsed.own);
  return with_session(arguments, 1, [&](harness::Session& session) {
    const harness::TrainingSummary summary = harness::train_codebooks(session, spec);
    if (!session.is_root()) return 0;
    if (summary.was_complete)
      fmt::print("{}: complete, nothing to do\n", spec.out);
    else
      fmt::print("{}: trained on {} tokens in {}\n", spec.out, summary.tokens,
                 to_string(Seconds(summary.seconds)));
    return 0;
  });
}

int coding_command(const Arguments& arguments, const std::vector<std::string>& words) {
  OptionParser parser(kCodingUsage);
  parser.allow_word("FILE");
  add_common(parser);
  parser.add("out", "FILE", "codebook file to write (default: FILE itself)");
  const OptionParser::Parsed parsed = parser.parse(words);
  if (parsed.is_help) return 0;
  require_input(parsed.has("FILE"),
                "which file? (thinwire codebook coding FILE --model DIR --input FILE --samples "
                "0..999)");

  const harness::CodebookCodingSpec spec = harness::make_coding_spec(parsed.own);
  return with_session(arguments, 1, [&](harness::Session& session) {
    harness::add_index_coding(session, spec);
    if (session.is_root()) fmt::print("{}: has tables for --index-coding\n", spec.out);
    return 0;
  });
}

/// Of the finest level.
void print_index_bits(const Json& rows) {
  fmt::print("\n{:>8} {:>9} {:>6} {:>8} {:>12}\n", "exchange", "codewords", "fixed", "entropy",
             "cross-layer");
  const int codewords = rows.back()["codewords"].get<int>();
  for (const Json& row : rows)
    if (row["codewords"].get<int>() == codewords)
      fmt::print("{:>8} {:>9} {:>6} {:>8.3f} {:>12.3f}\n", row["exchange"].get<int>(), codewords,
                 row["fixed"].get<int>(), row["entropy"].get<double>(),
                 row["cross_layer"].get<double>());
}

void print_quality(const Json& rows) {
  fmt::print("\n{:>8} {:>5} {:>9} {:>8} {:>10} {:>10}\n", "exchange", "level", "codewords", "used",
             "perplexity", "distortion");
  for (const Json& row : rows)
    fmt::print("{:>8} {:>5} {:>9} {:>8.1f} {:>10.1f} {:>10.4f}\n", row["exchange"].get<int>(),
               row["level"].get<int>(), row["codewords"].get<int>(), row["used"].get<double>(),
               row["perplexity"].get<double>(), row["distortion"].get<double>());
}

void print_info(const Json& info) {
  const auto bytes = [&](const char* key) {
    return to_string(Bytes(info["storage"][key].get<std::int64_t>()));
  };
  fmt::print("{}: {} codebooks of {} codewords for {}\n", info["file"].get<std::string>(),
             info["exchanges"].get<int>(), info["codewords"].get<int>(),
             info["strategy"].get<std::string>());
  fmt::print("  {:<12} {}\n", "levels", fmt::join(info["levels"].get<std::vector<int>>(), ", "));
  if (info["groups"].get<int>() > 1)
    fmt::print("  {:<12} {}\n", "groups", info["groups"].get<int>());
  fmt::print("  {:<12} codebooks {}, buffers {} (fp16), tables of indices {}, file {}\n", "storage",
             bytes("codebooks_bytes"), bytes("buffers_bytes"), bytes("index_tables_bytes"),
             bytes("file_bytes"));
  fmt::print("  {:<12} {}\n", "calibration",
             to_string(Seconds(info["calibration_s"].get<double>())));
  for (const auto& [key, value] : info["metadata"].items())
    fmt::print("  {:<18} {}\n", key, value.get<std::string>());
  if (info.contains("index_bits")) print_index_bits(info["index_bits"]);
  if (info.contains("quality")) print_quality(info["quality"]);
}

int info_command(const std::vector<std::string>& words) {
  OptionParser parser(kInfoUsage);
  parser.allow_word("FILE");
  add_common(parser);
  parser.add("json", "", "print the figures as JSON");
  const OptionParser::Parsed parsed = parser.parse(words);
  if (parsed.is_help) return 0;
  require_input(parsed.has("FILE"), "which file? (thinwire codebook info FILE --model DIR)");
  if (!is_speaker()) return 0;  // under mpirun one rank is enough

  const Json info = harness::codebook_info(harness::make_info_spec(parsed.own));
  if (parsed.is_on("json"))
    fmt::print("{}\n", info.dump(2));
  else
    print_info(info);
  return 0;
}

}  // namespace

int codebook_command(const Arguments& arguments) {
  const std::string what = arguments.rest.empty() ? "--help" : arguments.rest.front();
  const std::vector<std::string> words(arguments.rest.begin() + (arguments.rest.empty() ? 0 : 1),
                                       arguments.rest.end());
  if (what == "train") return train_command(arguments, words);
  if (what == "info") return info_command(words);
  if (what == "coding") return coding_command(arguments, words);
  require_input(what == "--help" || what == "-h", "codebook {}: train, coding or info is right",
                what);
  fmt::print("{}", kUsage);
  return 0;
}

}  // namespace thinwire::cli
