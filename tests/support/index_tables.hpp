#pragma once
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "support/codebooks.hpp"
#include "thinwire/compress/index_tables.hpp"

namespace thinwire::test {

/// Codebooks of another source, with tables of indices made from what devices sent of some inputs.
class TabledCodebooks final : public compress::CodebookSource {
 public:
  /// Empty tables: every index alike.
  TabledCodebooks(const model::Model& model, const compress::CodebookUse& use,
                  compress::CodebookSource& inner)
      : layers_(model.config().layers), use_(use), inner_(inner) {
    for (Index exchange = 0; exchange < layers_; ++exchange)
      for (std::size_t level = 0; level < levels().size(); ++level)
        for (Index group = 0; group < use.groups; ++group)
          counts_.emplace(std::tuple(exchange, group, static_cast<int>(level)),
                          compress::IndexStatistics(levels()[level], codewords()));
  }

  /// Counts a pass's frames.
  void count(const PassResult& pass, int level) {
    for (std::size_t device = 0; device < pass.quantised.front().size(); ++device) {
      compress::KnownIndices known;
      for (Index exchange = 0; exchange < layers_; ++exchange) {
        if (!use_.codes(exchange)) continue;
        const std::vector<std::int32_t>& indices =
            pass.quantised[static_cast<std::size_t>(exchange)][device].indices;
        for (Index group = 0; group < use_.groups; ++group)
          counts_.at({exchange, group, level}).add(indices, known, group, use_.groups);
        known = {.previous = indices, .earlier = known.previous};
      }
    }
  }

  Index codewords() const override { return inner_.codewords(); }
  std::vector<Index> levels() const override { return inner_.levels(); }
  Matrix<float> values(Index exchange, Index group) override {
    return inner_.values(exchange, group);
  }
  bool has_index_tables() const override { return true; }
  std::vector<std::uint16_t> index_tables(Index exchange, Index group, int level) override {
    const compress::IndexTables tables(counts_.at({exchange, group, level}));
    return {tables.words().begin(), tables.words().end()};
  }
  std::string fingerprint() const override { return inner_.fingerprint(); }

 private:
  Index layers_;
  compress::CodebookUse use_;
  compress::CodebookSource& inner_;
  std::map<std::tuple<Index, Index, int>, compress::IndexStatistics> counts_;
};

/// Random codebooks with tables from passes of `inputs` over `devices`, on the finest level.
inline compress::CodebookSet make_tabled_codebooks(const model::Model& model,
                                                   std::string_view strategy, int devices,
                                                   const compress::CodebookUse& use,
                                                   Index codewords,
                                                   strategy::StrategyOptions options,
                                                   std::span<const model::ModelInput> inputs) {
  const auto random = compress::random_codebooks(model.config(), use, codewords, 5);
  TabledCodebooks source(model, use, *random);
  const compress::CodebookSet plain = make_codebooks(model, use, *random);
  options.codebooks = &plain;
  options.index_coding = compress::IndexCoding::fixed;
  for (const model::ModelInput& input : inputs)
    source.count(run_pass(model, strategy, devices, options, input),
                 static_cast<int>(plain.levels().size()) - 1);
  return {model, use, source, {std::pmr::new_delete_resource()}, compress::WithIndexTables::yes};
}

/// Random codebooks with tables of every level, each from a pass of `input` on it.
inline compress::CodebookSet make_tabled_levels(const model::Model& model,
                                                std::string_view strategy, int devices,
                                                const compress::CodebookUse& use, Index codewords,
                                                const model::ModelInput& input) {
  const auto random = compress::random_codebooks(model.config(), use, codewords, 5);
  TabledCodebooks source(model, use, *random);
  const compress::CodebookSet plain = make_codebooks(model, use, *random);
  for (int level = 0; level < static_cast<int>(plain.levels().size()); ++level)
    source.count(run_pass(model, strategy, devices, {.codebooks = &plain, .level = level}, input),
                 level);
  return {model, use, source, {std::pmr::new_delete_resource()}, compress::WithIndexTables::yes};
}

}  // namespace thinwire::test
