#pragma once
#include "link_shim/settings.hpp"

namespace thinwire::link_shim {

/// The settings of the environment, which all ranks of MPI_COMM_WORLD can work with. Collective.
/// Otherwise one line on stderr and MPI_Abort with status 2: a wrong value, values that differ
/// between the ranks, ranks on several hosts.
Settings agreed_settings();

}  // namespace thinwire::link_shim
