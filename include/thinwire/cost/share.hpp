#pragma once
#include <vector>

#include "thinwire/base/types.hpp"
#include "thinwire/cost/workload.hpp"

namespace thinwire::cost {

/// The rows that one device deals with, the same in every block (ACCOUNTING 1).
struct Share {
  Index local = 0;      ///< n, rows it owns
  Index projected = 0;  ///< k, rows whose K and V it projects: its own, then those of its peers
  Index columns = 0;    ///< c, key columns it attends over
  // Rows of `hidden` fp32 values:
  Index published = 0;  ///< it sends in an exchange
  Index encoded = 0;    ///< of the buffer it encodes them in; 0 when they leave from where they are
  Index received = 0;   ///< of the receive buffer: every device's payload, its own included
  Index repeated = 0;   ///< a receiver makes room for before it projects them, its own included

  Index remote() const { return projected - local; }
};

/// How a strategy divides a sequence.
struct Plan {
  std::vector<Share> shares;  ///< [P]
  double nominal_tokens = 0;  ///< tokens in a device's payload as the papers count: N/P or L
};

/// Checks what concerns the division and divides. One device alone publishes nothing, whatever
/// the strategy. Throws InputError (unknown strategy with a suggestion, `single` on several
/// devices, P > N, L > n_p, a picture's tokens that are not the model's).
Plan make_plan(const Workload& workload);

}  // namespace thinwire::cost
