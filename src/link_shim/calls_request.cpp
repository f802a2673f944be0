// Completion of requests. A request is done when MPI has done it and the link says that it may be
// seen: tests look at it without completing it (MPI_Request_get_status) until both are true.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "link_shim/shim.hpp"

namespace thinwire::link_shim {
namespace {

using Array = std::span<MPI_Request>;

Array array_of(int count, MPI_Request* requests) {
  return {requests, static_cast<std::size_t>(count)};
}

bool is_done(Shim& shim, MPI_Request request) {
  int is_done_by_mpi = 0;
  MPI_Status status{};
  PMPI_Request_get_status(request, &is_done_by_mpi, &status);
  if (is_done_by_mpi == 0) return false;
  const std::shared_ptr<Operation> operation = shim.requests().find(request);
  return operation == nullptr || operation->leave_s(status) <= now_s();
}

/// A request that is_done().
int complete(Shim& shim, MPI_Request* request, MPI_Status* status) {
  shim.requests().take(*request);
  return PMPI_Wait(request, status);
}

MPI_Status* status_at(MPI_Status* statuses, std::size_t index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
}

/// For arrays, statuses of our own where the program wants none: receives are told by them.
class Statuses {
 public:
  Statuses(MPI_Status* given, int count)
      : own_(given == MPI_STATUSES_IGNORE ? static_cast<std::size_t>(count) : 0),
        used_(given == MPI_STATUSES_IGNORE ? own_.data() : given) {}
  MPI_Status* data() const { return used_; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* used_;
};

int wait_all(Shim& shim, Array requests, MPI_Status* statuses) {
  std::vector<std::shared_ptr<Operation>> operations;
  for (MPI_Request request : requests) operations.push_back(shim.requests().take(request));
  const auto count = static_cast<int>(requests.size());
  const Statuses used(statuses, count);
  const int code = PMPI_Waitall(count, requests.data(), used.data());
  double leave_s = 0;
  for (std::size_t i = 0; i < operations.size() && code == MPI_SUCCESS; ++i)
    if (operations[i] != nullptr)
      leave_s = std::max(leave_s, operations[i]->leave_s(used.data()[i]));
  shim.wait_until(leave_s);
  return code;
}

int test_any(Shim& shim, Array requests, int* index, int* flag, MPI_Status* status) {
  bool is_any_active = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (shim.requests().is_inactive(requests[i])) continue;
    is_any_active = true;
    if (!is_done(shim, requests[i])) continue;
    *index = static_cast<int>(i);
    *flag = 1;
    return complete(shim, &requests[i], status);
  }
  *index = MPI_UNDEFINED;
  *flag = is_any_active ? 0 : 1;
  if (is_any_active || status == MPI_STATUS_IGNORE) return MPI_SUCCESS;
  MPI_Request none = MPI_REQUEST_NULL;  // for an empty status
  return PMPI_Wait(&none, status);
}

int test_some(Shim& shim, Array requests, int* done, int* indices, MPI_Status* statuses) {
  bool is_any_active = false;
  int code = MPI_SUCCESS;
  *done = 0;
  for (std::size_t i = 0; i < requests.size() && code == MPI_SUCCESS; ++i) {
    if (shim.requests().is_inactive(requests[i])) continue;
    is_any_active = true;
    if (!is_done(shim, requests[i])) continue;
    code = complete(shim, &requests[i], status_at(statuses, static_cast<std::size_t>(*done)));
    indices[(*done)++] = static_cast<int>(i);
  }
  if (!is_any_active) *done = MPI_UNDEFINED;
  return code;
}

}  // namespace
}  // namespace thinwire::link_shim

using namespace thinwire::link_shim;  // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming): MPI's names
extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Wait(request, status);
  const std::shared_ptr<Operation> operation = shim->requests().take(*request);
  MPI_Status own{};
  MPI_Status* const used = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = PMPI_Wait(request, used);
  if (code == MPI_SUCCESS && operation != nullptr) shim->wait_until(operation->leave_s(*used));
  return code;
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Waitall(count, requests, statuses);
  return wait_all(*shim, array_of(count, requests), statuses);
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Waitany(count, requests, index, status);
  for (int flag = 0;; shim->pause()) {
    const int code = test_any(*shim, array_of(count, requests), index, &flag, status);
    if (code != MPI_SUCCESS || flag != 0) return code;
  }
}

int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Waitsome(count, requests, done, indices, statuses);
  for (;; shim->pause()) {
    const int code = test_some(*shim, array_of(count, requests), done, indices, statuses);
    if (code != MPI_SUCCESS || *done != 0) return code;
  }
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Test(request, flag, status);
  *flag = is_done(*shim, *request) ? 1 : 0;
  return *flag != 0 ? complete(*shim, request, status) : MPI_SUCCESS;
}

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Testall(count, requests, flag, statuses);
  const Array array = array_of(count, requests);
  *flag = std::ranges::all_of(array, [&](MPI_Request request) { return is_done(*shim, request); });
  return *flag != 0 ? wait_all(*shim, array, statuses) : MPI_SUCCESS;
}

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Testany(count, requests, index, flag, status);
  return test_any(*shim, array_of(count, requests), index, flag, status);
}

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Shim* const shim = Shim::active();
  if (shim == nullptr) return PMPI_Testsome(count, requests, done, indices, statuses);
  return test_some(*shim, array_of(count, requests), done, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const int code = PMPI_Request_get_status(request, flag, status);
  if (code == MPI_SUCCESS && *flag != 0 && Shim::active() != nullptr)
    *flag = is_done(*Shim::active(), request) ? 1 : 0;
  return code;
}

int MPI_Request_free(MPI_Request* request) {
  if (Shim::active() != nullptr) Shim::active()->requests().forget(*request);
  return PMPI_Request_free(request);
}

int MPI_Start(MPI_Request* request) {
  if (Shim::active() != nullptr) Shim::active()->requests().start(*request);
  return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request* requests) {
  if (Shim::active() != nullptr)
    for (MPI_Request request : array_of(count, requests)) Shim::active()->requests().start(request);
  return PMPI_Startall(count, requests);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
