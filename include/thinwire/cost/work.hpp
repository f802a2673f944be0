#pragma once
#include "thinwire/base/operations.hpp"
#include "thinwire/cost/share.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::cost {

// One device's operations (ACCOUNTING 1), kind by kind what the operators will count. `device` 0
// has the first row of the sequence: the class token, and with it the classifier.

/// From the input to the first hidden state of the local rows.
Operations embedding_work(const model::ModelConfig& model, const Share& share, int device);

/// One block: K and V of own and remote rows, attention of the local rows, feed-forward.
Operations block_work(const model::ModelConfig& model, const Share& share);

/// After the last block: final LayerNorm and head.
Operations head_work(const model::ModelConfig& model, const Share& share, int device);

}  // namespace thinwire::cost
