#pragma once
#include <memory_resource>
#include <span>
#include <vector>

#include "thinwire/strategy/layout.hpp"
#include "thinwire/strategy/sequence_head.hpp"

namespace thinwire::strategy {

/// The head on a device that holds every row of a sequence: that of a single device.
class WholeHead {
 public:
  WholeHead(const model::Model& model, std::span<const Index> lengths,
            std::pmr::memory_resource* memory)
      : layouts_(whole_layouts(lengths)), head_(model, {.memory = memory}, layouts_) {}

  /// x [N, hidden]: the last block's output, overwritten.
  Output operator()(const model::ModelInput& input, MatrixView<float> x, fabric::Fabric& fabric) {
    return head_(layout_of(layouts_, x.rows()), input, x, fabric);
  }

 private:
  static std::vector<Layout> whole_layouts(std::span<const Index> lengths) {
    std::vector<Layout> layouts;
    for (const Index tokens : lengths) layouts.push_back({{Slice{0, tokens}}});
    return layouts;
  }

  std::vector<Layout> layouts_;  // one device's, whichever device of the run it is
  SequenceHead head_;
};

}  // namespace thinwire::strategy
