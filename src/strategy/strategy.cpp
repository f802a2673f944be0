#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

void Strategy::forward_batch(std::span<const BatchItem> batch, fabric::Fabric& fabric,
                             const OutputReader& read) {
  for (std::size_t item = 0; item < batch.size(); ++item)
    read(item, forward(*batch[item].input, fabric, batch[item].observer));
}

}  // namespace thinwire::strategy
