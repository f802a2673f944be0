#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "thinwire/fabric/transport.hpp"

namespace thinwire::validation {

/// What a rank received during one pass, collective after collective.
using Tape = std::deque<std::vector<std::byte>>;

/// A rank's transport that also keeps what arrives.
class RecordingTransport final : public fabric::Transport {
 public:
  RecordingTransport(fabric::Transport& real, Tape& tape) : real_(real), tape_(tape) {}
  int rank() const override { return real_.rank(); }
  int size() const override { return real_.size(); }
  void meet() override { real_.meet(); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    real_.all_gather(mine, all);
    keep(all);
  }
  void all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                   std::span<std::byte> all) override {
    real_.all_gatherv(mine, sizes, all);
    keep(all);
  }
  void gatherv(int root, std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
               std::span<std::byte> all) override {
    real_.gatherv(root, mine, sizes, all);
    keep(all);
  }
  void scatterv(int root, std::span<const std::byte> all, std::span<const std::int64_t> sizes,
                std::span<std::byte> into) override {
    real_.scatterv(root, all, sizes, into);
    keep(into);
  }
  void send_receive(std::span<const std::byte> mine, int to, std::span<std::byte> into,
                    int from) override {
    real_.send_receive(mine, to, into, from);
    keep(into);
  }
  fabric::Turn& turn() override { return real_.turn(); }

 private:
  void keep(std::span<const std::byte> all) { tape_.emplace_back(all.begin(), all.end()); }

  fabric::Transport& real_;
  Tape& tape_;
};

/// The same rank with nobody else there: what its peers once sent is played back, so that it
/// computes its part, on the same numbers, alone on the machine.
class ReplayTransport final : public fabric::Transport {
 public:
  ReplayTransport(int rank, int size, const Tape& tape) : rank_(rank), size_(size), tape_(tape) {}
  /// Back to the first collective.
  void rewind() { next_ = 0; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void meet() override {}
  void all_gather(std::span<const std::byte> /*mine*/, std::span<std::byte> all) override {
    play(all);
  }
  void all_gatherv(std::span<const std::byte> /*mine*/, std::span<const std::int64_t> /*sizes*/,
                   std::span<std::byte> all) override {
    play(all);
  }
  void gatherv(int /*root*/, std::span<const std::byte> /*mine*/,
               std::span<const std::int64_t> /*sizes*/, std::span<std::byte> all) override {
    play(all);
  }
  void scatterv(int /*root*/, std::span<const std::byte> /*all*/,
                std::span<const std::int64_t> /*sizes*/, std::span<std::byte> into) override {
    play(into);
  }
  void send_receive(std::span<const std::byte> /*mine*/, int /*to*/, std::span<std::byte> into,
                    int /*from*/) override {
    play(into);
  }
  fabric::Turn& turn() override { return solo_->turn(); }

 private:
  void play(std::span<std::byte> all) { std::ranges::copy(tape_.at(next_++), all.begin()); }

  int rank_, size_;
  const Tape& tape_;
  std::size_t next_ = 0;
  std::unique_ptr<fabric::Transport> solo_ = fabric::make_solo_transport();
};

}  // namespace thinwire::validation
