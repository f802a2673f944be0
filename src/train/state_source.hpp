#pragma once
#include <span>
#include <string>
#include <vector>

#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/train/codebook_state.hpp"

namespace thinwire::train {

/// Codebooks in training as a strategy takes them: one level, codewords in their own order.
/// Exchanges whose codebook is not made yet get seeded random stand-ins, which nothing that is
/// looked at depends on: what exchange e would send follows from the codebooks before it.
class StateSource final : public compress::CodebookSource {
 public:
  /// states [exchange * groups + group]
  StateSource(std::span<const CodebookState> states, Index groups,
              compress::CodebookSource& stand_ins)
      : states_(states), groups_(groups), stand_ins_(stand_ins) {}

  Index codewords() const override { return stand_ins_.codewords(); }
  std::vector<Index> levels() const override { return {codewords()}; }
  Matrix<float> values(Index exchange, Index group) override;
  std::string fingerprint() const override { return stand_ins_.fingerprint(); }

 private:
  std::span<const CodebookState> states_;
  Index groups_;
  compress::CodebookSource& stand_ins_;
};

}  // namespace thinwire::train
