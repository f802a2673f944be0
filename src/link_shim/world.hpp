#pragma once
#include <string>

namespace thinwire::link_shim {

/// Of MPI_COMM_WORLD.
int world_rank();
int world_size();

/// One line on stderr, with the shim's name before it.
void say(const std::string& text);

}  // namespace thinwire::link_shim
