// SPDX-License-Identifier: Apache-2.0
//
// What the MPI plug-in can do, for this program and the plug-in alike. It is opened only under a
// launcher (mpirun, srun), so that nobody else needs an MPI library.
#pragma once

#include <cstdint>

namespace plumb::compare {

// All calls come from one thread.
struct MpiFunctions {
  // False if the processes cannot find each other.
  bool (*start)(int* rank, int* size);
  void (*broadcast)(void* bytes, uint64_t size);   // from rank 0 to all
  void (*send)(const void* bytes, uint64_t size);  // to rank 0
  // A message that has come to rank 0: from whom, and its size; -1: none has.
  int64_t (*probe)(int* from);
  void (*receive)(int from, void* bytes, uint64_t size);
  void (*stop)();
};

inline constexpr const char* kMpiSymbol = "plumb_mpi_1";
using MpiEntry = const MpiFunctions* (*)();

}  // namespace plumb::compare
