// Result files, as a sweep finds them when it is started again: whole, cut short, or of others.

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/record.hpp"
#include "thinwire/harness/result_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinwire;
  static const fuzz::InputFile file("result.jsonl");
  const std::filesystem::path& path = file.write(fuzz::as_text(data, size));
  fuzz::is_taken([&] {
    harness::ResultFile results(path);
    const std::size_t before = harness::read_records(path).size();
    results.append(Json{{"schema", harness::kResultSchema}, {"status", "ok"}, {"id", "appended"}});
    // Whatever was there is still there, and the record behind it is whole.
    fuzz::require(harness::read_records(path).size() == before + 1);
    fuzz::require(harness::ResultFile(path).finished_ids().contains("appended"));
  });
  return 0;
}
