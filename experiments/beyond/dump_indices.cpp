// Writes the indices that devices send, for contexts.py: who sends which index in which frame.
//
// Usage: thinwire_dump_indices MODEL CODEBOOK DATA FIRST..LAST PART STRATEGY DEVICES LEVEL OUT
//   PART   train or valid, of a file of bytes (else either)
//   LEVEL  of the codebook's hierarchy, -1: the finest
// OUT is a safetensors file: "tokens" [frames], how many tokens each frame has, frames of a
// sequence in device order; "exchange.<e>" [all tokens * groups] of every exchange that is coded.
// Rows of padding are left out.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "thinwire/base/text.hpp"
#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/eval/sample.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/tensor/safetensors.hpp"
#include "thinwire/train/calibration_run.hpp"

namespace {

using namespace thinwire;

/// What one device sends: frames [exchange][sequence], each its indices.
class FrameRecorder final : public train::RowObserver {
 public:
  using Frames = std::vector<std::vector<std::int32_t>>;
  const std::map<Index, Frames>& frames() const { return frames_; }

 private:
  void on_row(Index exchange, std::span<const float>,
              std::span<const std::int32_t> codes) override {
    Frames& frames = frames_[exchange];
    if (exchange != latest_ || frames.empty()) frames.emplace_back();
    latest_ = exchange;
    frames.back().insert(frames.back().end(), codes.begin(), codes.end());
  }

  std::map<Index, Frames> frames_;
  Index latest_ = -1;
};

std::vector<model::ModelInput> load_inputs(const model::ModelConfig& config,
                                           const std::string& folder, const std::string& data,
                                           const std::string& range, eval::BytesPart part) {
  const std::vector<std::string> ends = split(range, '.');
  std::vector<model::ModelInput> inputs;
  for (Index i = std::stoll(ends.front()), last = std::stoll(ends.back()); i <= last; ++i)
    for (model::ModelInput& input :
         eval::load_sample(data, i, config, eval::preprocessing_for(config, folder), 0, part)
             .sequences)
      inputs.push_back(std::move(input));
  return inputs;
}

void write(const std::vector<FrameRecorder>& devices, Index groups, const std::string& file) {
  SafetensorsWriter writer;
  std::vector<std::int32_t> tokens;
  for (const auto& [exchange, frames] : devices.front().frames()) {
    std::vector<std::int32_t> indices;
    tokens.clear();
    for (std::size_t sequence = 0; sequence < frames.size(); ++sequence)
      for (const FrameRecorder& device : devices) {
        const std::vector<std::int32_t>& frame = device.frames().at(exchange).at(sequence);
        tokens.push_back(static_cast<std::int32_t>(std::ssize(frame) / groups));
        indices.insert(indices.end(), frame.begin(), frame.end());
      }
    writer.add(fmt::format("exchange.{}", exchange), {std::ssize(indices)}, indices);
  }
  writer.add("tokens", {std::ssize(tokens)}, tokens);
  writer.write(file);
}

void dump(const std::vector<std::string>& args) {
  const harness::Point point = harness::make_point(harness::make_run_spec({{"model", args[0]}}));
  const auto weights = harness::open_weights(point.spec, point.config);
  const model::WeightPlace heap{std::pmr::new_delete_resource()};
  const model::Model model(point.config, *weights, heap);
  const train::CalibrationSetting setting{.strategy = args[5],
                                          .devices = static_cast<int>(std::stoll(args[6]))};
  const compress::CodebookUse use = train::codebook_use(setting, 1);
  const auto source = compress::open_codebooks(args[1], point.config, use, "");
  const compress::CodebookSet codebooks(model, use, *source, heap);
  const auto inputs =
      load_inputs(point.config, args[0], args[2], args[3],
                  args[4] == "train" ? eval::BytesPart::train : eval::BytesPart::valid);
  std::vector<FrameRecorder> devices(static_cast<std::size_t>(setting.devices));
  train::run_calibration(model, setting, codebooks, static_cast<int>(std::stoll(args[7])), inputs,
                         train::pointers(devices), {});
  write(devices, use.groups, args[8]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() != 9) {
    std::fprintf(stderr, "nine arguments are needed, see the top of dump_indices.cpp\n");
    return 2;
  }
  try {
    dump(args);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
