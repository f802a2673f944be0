#include "link_shim/requests.hpp"

#include <utility>

namespace thinwire::link_shim {

void Requests::add(MPI_Request request, std::shared_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(request, Entry{std::move(operation), nullptr});
}

void Requests::add_persistent(MPI_Request request, Start start) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(request, Entry{nullptr, std::move(start)});
}

void Requests::start(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(request);
  if (entry != entries_.end() && entry->second.start)
    entry->second.operation = entry->second.start();
}

std::shared_ptr<Operation> Requests::find(MPI_Request request) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.lower_bound(request);
  return entry != entries_.end() && entry->first == request ? entry->second.operation : nullptr;
}

std::shared_ptr<Operation> Requests::take(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.lower_bound(request);
  if (entry == entries_.end() || entry->first != request) return nullptr;
  std::shared_ptr<Operation> operation = std::move(entry->second.operation);
  if (!entry->second.start) entries_.erase(entry);
  return operation;
}

void Requests::forget(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.lower_bound(request);
  if (entry != entries_.end() && entry->first == request) entries_.erase(entry);
}

bool Requests::is_inactive(MPI_Request request) const {
  if (request == MPI_REQUEST_NULL) return true;
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(request);
  return entry != entries_.end() && entry->second.start && entry->second.operation == nullptr;
}

}  // namespace thinwire::link_shim
