// SPDX-License-Identifier: Apache-2.0
//
// The MPI plug-in: the only file that sees mpi.h.
#include <algorithm>

#include <dlfcn.h>
#include <mpi.h>

#include "compare/mpi.h"

namespace {

constexpr uint64_t kMostAtOnce = 1u << 30;  // MPI counts in int

bool start(int* rank, int* size) {
  // Parts of Open MPI are plug-ins, too, and look for its symbols among the global ones.
  Dl_info library;
  if (::dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &library) != 0)
    ::dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  int level = 0;
  return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS &&
         MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

void broadcast(void* bytes, uint64_t size) {
  for (uint64_t at = 0; at < size; at += kMostAtOnce)
    MPI_Bcast(static_cast<char*>(bytes) + at, static_cast<int>(std::min(kMostAtOnce, size - at)),
              MPI_BYTE, 0, MPI_COMM_WORLD);
}

void send(const void* bytes, uint64_t size) {
  MPI_Send(bytes, static_cast<int>(size), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

int64_t probe(int* from) {
  int is_there = 0, size = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, &status);
  if (is_there == 0) return -1;
  MPI_Get_count(&status, MPI_BYTE, &size);
  *from = status.MPI_SOURCE;
  return size;
}

void receive(int from, void* bytes, uint64_t size) {
  MPI_Recv(bytes, static_cast<int>(size), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void stop() { MPI_Finalize(); }

constexpr plumb::compare::MpiFunctions kFunctions{start, broadcast, send, probe, receive, stop};

}  // namespace

extern "C" __attribute__((visibility("default"))) const plumb::compare::MpiFunctions*
plumb_mpi_1() {
  return &kFunctions;
}
