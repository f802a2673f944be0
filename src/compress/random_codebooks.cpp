#include <fmt/format.h>

#include <utility>

#include "codebook_layout.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/compress/hierarchy.hpp"

namespace thinwire::compress {
namespace {

constexpr float kDeviation = 1;  // that of rows behind a LayerNorm

/// A codebook's values depend on its name and the seed alone, whoever makes them.
class RandomCodebooks final : public CodebookSource {
 public:
  RandomCodebooks(CodebookUse use, Index width, Index codewords, std::uint64_t seed)
      : use_(use), width_(width), codewords_(codewords), seed_(seed) {}

  Index codewords() const override { return codewords_; }

  std::vector<Index> levels() const override {
    if (use_.published == Published::block_output) return {codewords_};
    return default_levels(codewords_);
  }

  Matrix<float> values(Index exchange, Index group) override {
    Matrix<float> values(codewords_, width_, std::pmr::new_delete_resource(),
                         Matrix<float>::Fill::none);
    const RandomStream stream(codebook_name(use_, exchange, group), seed_);
#pragma omp parallel for schedule(static)
    for (Index k = 0; k < codewords_; ++k)
      stream.fill_symmetric(values.view().row(k), kDeviation,
                            static_cast<std::uint64_t>(k * width_));
    return values;
  }

  std::string fingerprint() const override {
    return to_hex(fnv1a(
        fmt::format("random codewords {} groups {} seed {}", codewords_, use_.groups, seed_)));
  }

 private:
  CodebookUse use_;
  Index width_, codewords_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<CodebookSource> random_codebooks(const model::ModelConfig& config,
                                                 const CodebookUse& use, Index codewords,
                                                 std::uint64_t seed) {
  require_input(codewords >= 2 && codewords <= 65536,
                "--codewords={}: an index has 1 to 16 bits (2 to 65536 codewords are possible)",
                codewords);
  return std::make_unique<RandomCodebooks>(use, group_width(config, use), codewords, seed);
}

}  // namespace thinwire::compress
