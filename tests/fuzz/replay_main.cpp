// Gives a fuzz target the files named on the command line, and those of the folders named there.
// Usage: <target>_fuzz FILE|FOLDER...       exit status 0 when every input was handled

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz_target.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& place) {
  std::vector<fs::path> files;
  if (!fs::is_directory(place)) return {place};
  for (const fs::directory_entry& entry : fs::directory_iterator(place))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

bool replay(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream.is_open()) {
    std::fprintf(stderr, "cannot read %s\n", file.c_str());
    return false;
  }
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: not a refusal, but: %s\n", file.c_str(), error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int inputs = 0, findings = 0;
  for (int i = 1; i < argc; ++i)
    for (const fs::path& file : files_of(argv[i])) {
      ++inputs;
      if (!replay(file)) ++findings;
    }
  std::printf("%d inputs, %d findings\n", inputs, findings);
  // An empty corpus would pass for ever.
  return inputs > 0 && findings == 0 ? 0 : 1;
}
