#pragma once
#include <string_view>

#include "thinwire/fabric/mpi_session.hpp"
#include "thinwire/fabric/node_memory.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire {

/// A preset with random weights, packed once a node into memory that its ranks share: collective.
class NodeModel {
 public:
  NodeModel(fabric::MpiSession& session, std::string_view preset)
      : memory_(session, kMostBytes),
        model_(model::preset(preset), *model::random_weights(model::preset(preset), 0),
               {&memory_, memory_.is_writer() ? ops::Packing::write : ops::Packing::attach}) {}

  const model::Model& operator*() const { return model_; }

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 34;  // address space, not memory

  fabric::NodeMemory memory_;
  model::Model model_;
};

}  // namespace thinwire
