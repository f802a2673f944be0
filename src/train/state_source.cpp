#include "train/state_source.hpp"

namespace thinwire::train {

Matrix<float> StateSource::values(Index exchange, Index group) {
  const CodebookState& state = states_[static_cast<std::size_t>(exchange * groups_ + group)];
  if (state.codewords.rows() == 0) return stand_ins_.values(exchange, group);
  Matrix<float> values(state.codewords.rows(), state.codewords.cols());
  copy<float>(state.codewords.view(), values.view());
  return values;
}

}  // namespace thinwire::train
