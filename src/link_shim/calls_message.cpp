// Messages between two ranks. A message to a peer is preceded by its stamp; who receives it takes
// the stamp as well, whichever of the calls below either of them used.
#include <mpi.h>

#include <memory>
#include <utility>

#include "link_shim/plans.hpp"
#include "link_shim/shim.hpp"

namespace thinwire::link_shim {
namespace {

/// The shadow for a message that this rank sends to `to`; null when it passes unshaped.
std::shared_ptr<Shadow> shadow_towards(MPI_Comm comm, int to) {
  if (Shim::active() == nullptr || to == MPI_PROC_NULL) return nullptr;
  const std::shared_ptr<Shadow> shadow = Shim::active()->shadow_of(comm);
  return shadow != nullptr && shadow->rank() != to ? shadow : nullptr;
}

/// The shadow for messages that this rank may receive.
std::shared_ptr<Shadow> shadow_for_receiving(MPI_Comm comm) {
  return Shim::active() == nullptr ? nullptr : Shim::active()->shadow_of(comm);
}

struct Message {
  int count;
  MPI_Datatype type;
  int to, tag;
  MPI_Comm comm;
};

/// Null when the message passes unshaped.
std::shared_ptr<Operation> begin_sending(const Message& message) {
  const std::shared_ptr<Shadow> shadow = shadow_towards(message.comm, message.to);
  if (shadow == nullptr) return nullptr;
  return std::make_shared<SentMessage>(
      *Shim::active(), *shadow, bytes_of(message.count, message.type), message.to, message.tag);
}

void finish(const std::shared_ptr<Operation>& operation, const MPI_Status& status) {
  if (operation != nullptr) Shim::active()->wait_until(operation->leave_s(status));
}

template <class Call>
int send(const Message& message, Call call) {
  const std::shared_ptr<Operation> sending = begin_sending(message);
  const int code = call();
  if (code == MPI_SUCCESS) finish(sending, {});
  return code;
}

/// Also an unshaped request is noted: libraries give equal handles to what is done at once.
template <class Call>
int start_sending(const Message& message, const MPI_Request* request, Call call) {
  const std::shared_ptr<Operation> sending = begin_sending(message);
  const int code = call();
  if (code == MPI_SUCCESS && Shim::active() != nullptr)
    Shim::active()->requests().add(*request, sending);
  return code;
}

template <class Call>
int prepare_sending(const Message& message, const MPI_Request* request, Call call) {
  const int code = call();
  if (code == MPI_SUCCESS && shadow_towards(message.comm, message.to) != nullptr)
    Shim::active()->requests().add_persistent(*request,
                                              [message] { return begin_sending(message); });
  return code;
}

std::shared_ptr<Operation> begin_receiving(MPI_Comm comm) {
  std::shared_ptr<Shadow> shadow = shadow_for_receiving(comm);
  if (shadow == nullptr) return nullptr;
  return std::make_shared<ReceivedMessage>(*Shim::active(), std::move(shadow));
}

/// call(status) receives; waits until what it received has arrived.
template <class Call>
int receive(MPI_Comm comm, MPI_Status* status, Call call) {
  const std::shared_ptr<Operation> receiving = begin_receiving(comm);
  MPI_Status own{};
  MPI_Status* const used = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = call(used);
  if (code == MPI_SUCCESS) finish(receiving, *used);
  return code;
}

}  // namespace
}  // namespace thinwire::link_shim

using namespace thinwire::link_shim;  // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming): MPI's names
extern "C" {

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send({count, type, to, tag, comm},
              [&] { return PMPI_Send(data, count, type, to, tag, comm); });
}

int MPI_Bsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send({count, type, to, tag, comm},
              [&] { return PMPI_Bsend(data, count, type, to, tag, comm); });
}

int MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send({count, type, to, tag, comm},
              [&] { return PMPI_Ssend(data, count, type, to, tag, comm); });
}

int MPI_Rsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send({count, type, to, tag, comm},
              [&] { return PMPI_Rsend(data, count, type, to, tag, comm); });
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return start_sending({count, type, to, tag, comm}, request,
                       [&] { return PMPI_Isend(data, count, type, to, tag, comm, request); });
}

int MPI_Ibsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return start_sending({count, type, to, tag, comm}, request,
                       [&] { return PMPI_Ibsend(data, count, type, to, tag, comm, request); });
}

int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return start_sending({count, type, to, tag, comm}, request,
                       [&] { return PMPI_Issend(data, count, type, to, tag, comm, request); });
}

int MPI_Irsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return start_sending({count, type, to, tag, comm}, request,
                       [&] { return PMPI_Irsend(data, count, type, to, tag, comm, request); });
}

int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return prepare_sending({count, type, to, tag, comm}, request,
                         [&] { return PMPI_Send_init(data, count, type, to, tag, comm, request); });
}

int MPI_Bsend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare_sending({count, type, to, tag, comm}, request, [&] {
    return PMPI_Bsend_init(data, count, type, to, tag, comm, request);
  });
}

int MPI_Ssend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare_sending({count, type, to, tag, comm}, request, [&] {
    return PMPI_Ssend_init(data, count, type, to, tag, comm, request);
  });
}

int MPI_Rsend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare_sending({count, type, to, tag, comm}, request, [&] {
    return PMPI_Rsend_init(data, count, type, to, tag, comm, request);
  });
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  return receive(comm, status, [&](MPI_Status* used) {
    return PMPI_Recv(data, count, type, from, tag, comm, used);
  });
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int code = PMPI_Irecv(data, count, type, from, tag, comm, request);
  if (code == MPI_SUCCESS && Shim::active() != nullptr)
    Shim::active()->requests().add(*request, begin_receiving(comm));
  return code;
}

int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int code = PMPI_Recv_init(data, count, type, from, tag, comm, request);
  if (code == MPI_SUCCESS && shadow_for_receiving(comm) != nullptr)
    Shim::active()->requests().add_persistent(*request, [comm] { return begin_receiving(comm); });
  return code;
}

int MPI_Sendrecv(const void* data, int count, MPI_Datatype type, int to, int tag, void* into,
                 int most, MPI_Datatype into_type, int from, int from_tag, MPI_Comm comm,
                 MPI_Status* status) {
  return send({count, type, to, tag, comm}, [&] {
    return receive(comm, status, [&](MPI_Status* used) {
      return PMPI_Sendrecv(data, count, type, to, tag, into, most, into_type, from, from_tag, comm,
                           used);
    });
  });
}

int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int tag, int from,
                         int from_tag, MPI_Comm comm, MPI_Status* status) {
  return send({count, type, to, tag, comm}, [&] {
    return receive(comm, status, [&](MPI_Status* used) {
      return PMPI_Sendrecv_replace(data, count, type, to, tag, from, from_tag, comm, used);
    });
  });
}

// A matched probe takes the message out of the queue, so it takes the stamp: what follows it
// (MPI_Mrecv) needs nothing more.
int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return receive(comm, status,
                 [&](MPI_Status* used) { return PMPI_Mprobe(from, tag, comm, message, used); });
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int* is_there, MPI_Message* message,
                MPI_Status* status) {
  const std::shared_ptr<Operation> receiving = begin_receiving(comm);
  MPI_Status own{};
  MPI_Status* const used = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = PMPI_Improbe(from, tag, comm, is_there, message, used);
  if (code == MPI_SUCCESS && *is_there != 0) finish(receiving, *used);
  return code;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
