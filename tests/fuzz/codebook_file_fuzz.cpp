// Codebook files of `--codebook`, for every way in which strategies use them.

#include <array>

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/compress/codebook_source.hpp"

namespace {

using namespace thinwire;
using compress::Buffers, compress::CodebookUse, compress::Published;

const std::array kUses = {
    CodebookUse{.buffers = Buffers::kv},
    CodebookUse{.codes_first_exchange = false, .buffers = Buffers::hidden},
    CodebookUse{.published = Published::attention_output},
    CodebookUse{.published = Published::block_output},
    CodebookUse{.published = Published::block_output, .groups = 2},
};

void read_all(compress::CodebookSource& source, const model::ModelConfig& config,
              const CodebookUse& use) {
  fuzz::require(source.codewords() >= 2 && source.levels().back() == source.codewords());
  fuzz::require(source.fingerprint().size() == 16);
  for (Index exchange = 0; exchange < config.layers; ++exchange) {
    if (!use.codes(exchange)) continue;
    source.kv(exchange);
    for (Index group = 0; group < use.groups; ++group)
      fuzz::require(source.values(exchange, group).view().rows() == source.codewords());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file("codebook.safetensors");
  static const model::ModelConfig config{.name = "tiny", .hidden = 4, .layers = 2, .heads = 1};
  const std::filesystem::path& path = file.write(fuzz::as_text(data, size));
  for (const CodebookUse& use : kUses)
    fuzz::is_taken(
        [&] { read_all(*compress::open_codebooks(path, config, use, ""), config, use); });
  return 0;
}
