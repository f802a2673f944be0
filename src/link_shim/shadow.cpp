#include "link_shim/shadow.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace thinwire::link_shim {
namespace {

fabric::Link link_between(const fabric::Link& link, const std::vector<int>& nodes) {
  fabric::Link part = link;
  if (link.rates.size() == 1) return part;
  part.rates.clear();
  for (const int node : nodes) part.rates.push_back(link.rates[static_cast<std::size_t>(node)]);
  return part;
}

constexpr int kStampDoubles = sizeof(Stamp) / sizeof(double);

}  // namespace

Shadow::Shadow(MPI_Comm user, const fabric::Link& link, std::vector<int> nodes)
    : nodes_(std::move(nodes)), link_(link_between(link, nodes_)) {
  PMPI_Comm_dup(user, &handle_);
  // Also where the program lets its communicator return errors: a lost stamp would be a hang.
  PMPI_Comm_set_errhandler(handle_, MPI_ERRORS_ARE_FATAL);
  PMPI_Comm_rank(handle_, &rank_);
}

Shadow::~Shadow() {
  for (Outgoing& outgoing : outgoing_) PMPI_Wait(&outgoing.request, MPI_STATUS_IGNORE);
  PMPI_Comm_free(&handle_);
}

void Shadow::send_stamp(const Stamp& stamp, int to, int tag) {
  const std::lock_guard lock(outgoing_mutex_);
  int is_sent = 1;
  while (!outgoing_.empty() && is_sent != 0) {
    PMPI_Test(&outgoing_.front().request, &is_sent, MPI_STATUS_IGNORE);
    if (is_sent != 0) outgoing_.pop_front();
  }
  Outgoing& outgoing = outgoing_.emplace_back(Outgoing{stamp});
  PMPI_Isend(&outgoing.stamp, kStampDoubles, MPI_DOUBLE, to, tag, handle_, &outgoing.request);
}

Stamp Shadow::receive_stamp(const MPI_Status& status) const {
  Stamp stamp;
  PMPI_Recv(&stamp, kStampDoubles, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, handle_,
            MPI_STATUS_IGNORE);
  return stamp;
}

std::vector<int> nodes_of(MPI_Comm communicator) {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Comm_group(communicator, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> members(static_cast<std::size_t>(size)), nodes(members.size());
  std::iota(members.begin(), members.end(), 0);
  PMPI_Group_translate_ranks(group, size, members.data(), world, nodes.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  if (std::ranges::find(nodes, MPI_UNDEFINED) != nodes.end()) nodes.clear();
  return nodes;
}

}  // namespace thinwire::link_shim
