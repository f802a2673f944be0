#pragma once
#include <memory>
#include <span>
#include <vector>

#include "thinwire/strategy/exchange.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// What one device gets from the terminal and gives back.
struct TerminalShare {
  /// Rows of the embedded sequence, in the order in which they are sent; none: nothing is sent.
  std::vector<Slice> rows;
  Index answer_rows = 0;  ///< of logits or an embedding that it sends at the end

  Index row_count() const;
};

/// The shares of all devices for one sequence length.
struct TerminalPlan {
  Layout layout;  ///< of device 0
  std::vector<TerminalShare> shares;
  Slice answer;       ///< global rows of a language model's answer that the terminal has in the end
  Index answers = 1;  ///< equal answers, one an input (pipeline)
};

/// The plan of the sequence-parallel family: a device's copies and its own rows.
TerminalPlan sequence_plan(Layout layout, const model::ModelConfig& config, Collect collect);

/// Values of a row of an answer: labels, hidden (a mean), or vocabulary.
Index answer_width(const model::ModelConfig& config);

/// PRISM's master (METHODS 7): embeds the input, makes every device's payload of exchange 0, and
/// sends each device one message
///   its index (int32) | its rows [hidden] fp32 | the peers' payloads, in device order
/// then sleeps until the answer comes.
class Terminal final : public Strategy {
 public:
  /// exchange: null where devices get rows alone. A message is held for every device at once.
  Terminal(const model::Model& model, const DeviceRole& role, std::vector<TerminalPlan> plans,
           std::unique_ptr<Exchange> exchange);

  Output forward(const model::ModelInput& input, fabric::Fabric& fabric,
                 Observer* observer) override;

 private:
  void embed(const model::ModelInput& input, Index tokens, fabric::Fabric& fabric);
  void encode(const TerminalPlan& plan, const model::ModelInput& input, fabric::Fabric& fabric);
  void write_message(const TerminalPlan& plan, int device, std::span<std::byte> message) const;
  void distribute(const TerminalPlan& plan, fabric::Fabric& fabric);
  Output collect(const TerminalPlan& plan, fabric::Fabric& fabric);

  const model::Model& model_;
  std::vector<TerminalPlan> plans_;
  std::unique_ptr<Exchange> exchange_;
  Matrix<float> x_, patches_;
  Matrix<std::byte> payloads_;              ///< all devices' of exchange 0, in device order
  std::vector<fabric::Payload> encoded_;    ///< [device], into payloads_
  Matrix<std::byte> messages_;              ///< one a device
  std::vector<fabric::Payload> addressed_;  ///< [device], into messages_
  Matrix<float> answer_;                    ///< [rows, answer_width]
};

/// A device's end of the way from and to the terminal.
class TerminalLink {
 public:
  /// exchange: as the terminal's, or null.
  TerminalLink(const model::Model& model, const DeviceRole& role, std::vector<TerminalPlan> plans,
               Exchange* exchange);

  /// Receives this device's rows [row_count, hidden], which last until the next pass, and leaves
  /// the peers' payloads in the exchange's buffer of exchange 0, which must have begun its pass.
  MatrixView<const float> receive(Index tokens, Exchange* exchange, fabric::Fabric& fabric);
  /// Sends what this device has of the answer: the last or all rows of `output` as the plan says.
  /// Nothing is left here.
  Output send(Index tokens, const Output& output, fabric::Fabric& fabric);

 private:
  void unpack(const TerminalPlan& plan, Exchange& exchange) const;

  Index hidden_;
  int device_;
  std::vector<TerminalPlan> plans_;
  Matrix<std::byte> message_;
};

}  // namespace thinwire::strategy
