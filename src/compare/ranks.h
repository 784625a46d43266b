// SPDX-License-Identifier: Apache-2.0
//
// One comparison by the processes of an MPI launcher. Rank 0 lists the dumps and tells all others
// what it found; each compares its share, as `--shard` would give it; rows travel to rank 0 as
// lines while they are made, and rank 0 finishes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "compare/mpi.h"
#include "compare/shards.h"

namespace plumb::compare {

class Ranks {
 public:
  // Whether this process was started as one of several by an MPI launcher.
  static bool are_launched();
  static Result<std::unique_ptr<Ranks>> start();
  ~Ranks();  // when all have come here

  bool is_first() const { return rank_ == 0; }
  Shard shard() const { return {rank_ + 1, size_}; }

  // The text of rank 0, at all.
  void broadcast(std::string& text);

  // Of all but the first rank: streams the rows and sends them, and progress. An error is for
  // `send_error`, which also ends what this rank has to say.
  Result<void> stream_away(const Session& session, std::span<const RowId> rows,
                           std::span<const Stamp> stamps, RunContext& context);
  void send_error(const Error& error);
  // Of the first rank: streams its own rows, and takes those of all others into `store`.
  Result<void> stream_together(const Session& session, std::span<const RowId> rows, RowStore& store,
                               RunContext& context);

 private:
  Ranks(const MpiFunctions& functions, int rank, int size)
      : mpi_(functions), rank_(rank), size_(size) {}
  void send(char kind, std::string_view text);

  const MpiFunctions& mpi_;
  int rank_, size_;
};

}  // namespace plumb::compare
