#pragma once
#include <memory>
#include <optional>

#include "fabric/mpi_handles.hpp"
#include "fabric/mpi_transport.hpp"
#include "fabric/node_segment.hpp"
#include "thinwire/fabric/mpi_session.hpp"
#include "thinwire/fabric/progress_board.hpp"

namespace thinwire::fabric {

/// Members are destroyed before MPI is finalised: the session's destructor resets the pointer.
struct MpiSession::Impl {
  Communicator all;
  Communicator node;
  NodeSegment segment;  // holds the turn's lock
  NodeTurn turn;
  NodeSegment board_segment;  // holds the board's rows
  ProgressBoard board;
  std::unique_ptr<MpiTransport> world;
  int hosts = 1;

  Impl();
};

}  // namespace thinwire::fabric
