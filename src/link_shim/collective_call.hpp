#pragma once
#include <mpi.h>

#include <memory>
#include <utility>

#include "link_shim/operation.hpp"
#include "link_shim/shim.hpp"

namespace thinwire::link_shim {

/// Runs a collective of the program, call(), with the link's time around it; plan(shadow) says what
/// it sends. The ranks' meeting and the real transfer happen while the link's time passes.
template <class MakePlan, class Call>
int shape(MPI_Comm comm, MakePlan plan, Call call) {
  Shim* const shim = Shim::active();
  const std::shared_ptr<Shadow> shadow = shim == nullptr ? nullptr : shim->shadow_of(comm);
  if (shadow == nullptr) return call();
  Collective collective(*shim, shadow, plan(*shadow));
  const int code = call();
  shim->wait_until(collective.leave_s({}));
  return code;
}

/// The same for a collective that call() only begins, as `request`.
template <class MakePlan, class Call>
int start_shaped(MPI_Comm comm, const MPI_Request* request, MakePlan plan, Call call) {
  Shim* const shim = Shim::active();
  const std::shared_ptr<Shadow> shadow = shim == nullptr ? nullptr : shim->shadow_of(comm);
  std::shared_ptr<Operation> operation;
  if (shadow != nullptr) operation = std::make_shared<Collective>(*shim, shadow, plan(*shadow));
  const int code = call();
  if (code == MPI_SUCCESS && shim != nullptr) shim->requests().add(*request, std::move(operation));
  return code;
}

}  // namespace thinwire::link_shim
