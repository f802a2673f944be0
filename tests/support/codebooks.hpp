#pragma once
#include <algorithm>
#include <vector>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/codebook_source.hpp"

namespace thinwire::test {

/// What `strategy` needs, with its default switches.
inline compress::CodebookUse codebook_use(std::string_view strategy) {
  const auto entry =
      std::ranges::find(strategy::strategies(), strategy, &strategy::StrategyEntry::name);
  TW_REQUIRE(entry != strategy::strategies().end() && entry->codebooks.has_value(),
             "{} is no strategy with codebooks", strategy);
  return *entry->codebooks;
}

inline compress::CodebookSet make_codebooks(const model::Model& model,
                                            const compress::CodebookUse& use,
                                            compress::CodebookSource& source) {
  return {model, use, source, {std::pmr::new_delete_resource()}};
}

inline compress::CodebookSet make_random_codebooks(const model::Model& model,
                                                   const compress::CodebookUse& use,
                                                   Index codewords) {
  return make_codebooks(model, use, *compress::random_codebooks(model.config(), use, codewords, 5));
}

/// Codebooks of a golden file, for the tiny model of that name.
inline compress::CodebookSet make_golden_codebooks(const model::Model& model,
                                                   const std::string& name,
                                                   const compress::CodebookUse& use) {
  return make_codebooks(
      model, use,
      *compress::open_codebooks(kGoldenFolder / (name + ".safetensors"), model.config(), use, ""));
}

/// Codewords that are given as rows; an exchange without any has ones that differ.
class RowCodebooks final : public compress::CodebookSource {
 public:
  RowCodebooks(const model::ModelConfig& config, Index groups, Index codewords) : groups_(groups) {
    for (Index e = 0; e < config.layers; ++e) {
      Matrix<float>& rows = rows_.emplace_back(codewords, config.hidden);
      for (Index k = 0; k < codewords; ++k) rows(k, k % config.hidden) = 1;
    }
  }
  void set(Index exchange, MatrixView<const float> rows) {
    copy(rows, rows_[static_cast<std::size_t>(exchange)].view());
  }

  Index codewords() const override { return rows_[0].rows(); }
  std::vector<Index> levels() const override { return {codewords()}; }
  Matrix<float> values(Index exchange, Index group) override {
    const Matrix<float>& rows = rows_[static_cast<std::size_t>(exchange)];
    const Index width = rows.cols() / groups_;
    Matrix<float> part(rows.rows(), width);
    copy<float>(rows.view().cols(group * width, width), part.view());
    return part;
  }
  std::string fingerprint() const override { return "0123456789abcdef"; }

 private:
  Index groups_;
  std::vector<Matrix<float>> rows_;  // [layers] of [K, hidden]
};

/// Codebooks that hold every row which the devices publish while they run `input` with these very
/// codebooks: nothing is lost by quantising. Found exchange by exchange.
inline compress::CodebookSet make_lossless_codebooks(const model::Model& model,
                                                     std::string_view strategy, int devices,
                                                     const compress::CodebookUse& use,
                                                     strategy::StrategyOptions options,
                                                     const model::ModelInput& input) {
  const bool replicates = options.class_token == strategy::ClassToken::replicated;
  const Index rows = input.tokens(model.config()) - (replicates ? 1 : 0);
  RowCodebooks source(model.config(), use.groups, rows);
  for (Index e = use.codes_first_exchange ? 0 : 1; e < model.config().layers; ++e) {
    const compress::CodebookSet codebooks = make_codebooks(model, use, source);
    options.codebooks = &codebooks;
    const PassResult pass = run_pass(model, strategy, devices, options, input);
    source.set(e, pass.quantised_rows(e).view());
  }
  return make_codebooks(model, use, source);
}

}  // namespace thinwire::test
