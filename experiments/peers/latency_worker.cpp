// thinwire as a worker of latency.py, which speaks the line protocol of worker_loop.py: one device,
// warm, that runs when it is asked to, as `thinwire run` runs it. It also answers "ceiling" with
// the time of the bare oneDNN products of the same shapes. Set GOMP_SPINCOUNT=4000, as thinwire
// does for itself.
//
// Usage: thinwire_latency_worker INPUT NAME=VALUE...
//   INPUT  raw values: fp32 pixels [channels, H, W] or int32 token numbers [N]
//   NAME   options of `thinwire run`: model=FOLDER threads=2
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <string>

#include "pass_products.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/run_device.hpp"
#include "thinwire/harness/session.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::peers {
namespace {

constexpr int kWarmUp = 3;

template <class T>
std::vector<T> read_values(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  require_input(stream.good(), "{}: cannot be read", file);
  std::vector<T> values(std::filesystem::file_size(file) / sizeof(T));
  stream.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
  require_input(stream.good(), "{}: cannot be read", file);
  return values;
}

model::ModelInput read_input(const std::string& file, const model::ModelConfig& config) {
  model::ModelInput input;
  if (config.is_text())
    input.ids = read_values<std::int32_t>(file);
  else
    input.pixels = read_values<float>(file);
  model::check_input(input, config);
  return input;
}

/// The point of `thinwire run` with these options and one iteration, and the input of the file.
harness::Point make_point(const std::string& input, std::span<char*> options) {
  harness::KeyValues given = {{"iterations", "1"}, {"warmup", "0"}, {"timeout", "0s"}};
  for (const std::string option : options) {
    const std::size_t equals = option.find('=');
    require_input(equals != std::string::npos, "{}: not of the form NAME=VALUE", option);
    given.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  harness::Point point = harness::make_point(harness::make_run_spec(given));
  harness::require_fit(point);
  point.sample.sequences = {read_input(input, point.config)};
  return point;
}

/// One device, and the bare products beside it from the first time that they are asked for.
class Worker {
 public:
  Worker(int argc, char** argv)
      : session_(argc, argv),
        point_(make_point(argv[1], std::span(argv + 2, static_cast<std::size_t>(argc - 2)))),
        transport_(session_.first_ranks(1)),
        device_(
            session_.shared_for(point_), point_, point_.spec.links(), {*transport_},
            [](const std::string&) {}, session_.board(), std::pmr::new_delete_resource()) {
    for (int i = 0; i < kWarmUp; ++i) run();
  }

  /// What multiplies: the products of fp32 are thinwire's own, those of bf16 oneDNN's.
  std::string version() const {
    if (point_.spec.dtype == DType::fp32) return "thinwire, its own kernels";
    return fmt::format("thinwire with oneDNN {}", ops::onednn_version());
  }

  /// Seconds of one inference.
  double run() {
    return device_.iterate([](int) {}).iterations.at(0).wall_s;
  }

  /// Seconds of the bare products.
  double ceiling() {
    if (!matmuls_) {
      matmuls_.emplace(micro::products_of(point_.config));
      (*matmuls_)();
    }
    return micro::bare_matmul_seconds(*matmuls_);
  }

  /// Writes one more inference's outputs; returns how many there are.
  Index write_output(const std::string& file) {
    const harness::Capture capture = device_.capture(point_.sample.sequences[0]);
    const std::span<const float> values = capture.values.view().elements();
    std::ofstream stream(file, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size_bytes()));
    stream.close();
    require_input(stream.good(), "{}: cannot be written", file);
    return std::ssize(values);
  }

 private:
  harness::Session session_;
  harness::Point point_;
  std::unique_ptr<fabric::Transport> transport_;
  harness::DeviceRun device_;
  std::optional<micro::BareMatmuls> matmuls_;
};

void serve(Worker& worker) {
  const std::string output = "output ";
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    if (line == "run")
      fmt::print("seconds {:.9f}\n", worker.run());
    else if (line == "ceiling")
      fmt::print("seconds {:.9f}\n", worker.ceiling());
    else if (line.starts_with(output))
      fmt::print("written {}\n", worker.write_output(line.substr(output.size())));
    else
      fmt::print("error unknown command {}\n", line);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace thinwire::peers

int main(int argc, char** argv) {
  try {
    thinwire::require_input(argc >= 3, "usage: thinwire_latency_worker INPUT NAME=VALUE...");
    thinwire::peers::Worker worker(argc, argv);
    fmt::print("ready {}\n", worker.version());
    std::fflush(stdout);
    thinwire::peers::serve(worker);
    return 0;
  } catch (const std::exception& error) {
    fmt::print("skipped {}\n", error.what());
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
