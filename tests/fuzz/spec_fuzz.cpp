// Sweep documents and run specs: what `run`, `sweep` and `predict` read.

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace {

using namespace thinwire;

/// A spec that was taken has a record and an id.
void write_down(const harness::RunSpec& spec) {
  harness::to_json(spec).dump();
  fuzz::require(harness::spec_id(spec, "predicted", {}).size() == 16);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file("sweep.json");
  const std::filesystem::path& path = file.write(fuzz::as_text(data, size));
  fuzz::is_taken([&] { write_down(harness::run_spec_from_json(read_json(path))); });
  fuzz::is_taken([&] {
    const harness::Sweep sweep = harness::read_sweep(path);
    fuzz::require(!sweep.points.empty());
    write_down(sweep.points.front());
    write_down(sweep.points.back());
  });
  return 0;
}
