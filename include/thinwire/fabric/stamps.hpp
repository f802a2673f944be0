#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace thinwire::fabric {

class Transport;

/// The numbers that ranks tell each other when they meet for a collective: as many on every rank.
/// Keeps its memory from one collective to the next.
class Stamps {
 public:
  /// Begins this rank's stamp.
  void begin() { mine_.clear(); }
  /// Appends `count` numbers, to be filled in before the next call.
  std::span<double> add(std::size_t count);
  void add(std::span<const double> values);

  /// The transport's ranks meet and tell each other theirs.
  void exchange(Transport& transport);
  /// Of the last exchange; valid until the next one.
  std::span<const double> of(int rank) const;

 private:
  std::vector<double> mine_, all_;
};

}  // namespace thinwire::fabric
