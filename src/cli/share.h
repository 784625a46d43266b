// SPDX-License-Identifier: Apache-2.0
//
// Comparisons that are not made by one process from beginning to end: shares of the rows, processes
// of an MPI launcher, rows that a journal keeps, plans that a file keeps.
#pragma once

#include "cli/compare_request.h"
#include "compare/ranks.h"
#include "compare/shards.h"

namespace plumb::cli {

// Words of a command that say who compares which rows, and where they go: not part of what is
// compared. A plan is, for those who merge.
inline const std::vector<std::string> kNotInPart = {"--json", "-o", "--shard", "--journal"};
inline const std::vector<std::string> kNotAgain = {"--json", "-o", "--shard", "--journal",
                                                   "--plan-file"};

// A session, and what the files of its rows are, if its plan told.
struct Opened {
  Session session;
  std::vector<compare::Stamp> planned;  // by row; empty: nobody asked yet

  std::vector<compare::Stamp> stamps(const RunContext& context) const;
};
// By the plan file if the request names one, which is written if it is not there.
Result<Opened> open_compare(const CompareRequest& request, RunContext& context);

// Every row, by way of a journal if the request names one.
Result<result::Run> make_run(const CompareRequest& request, const Opened& opened,
                             RunContext& context);

// `plumb compare --shard K/N`: the exit status. `command`: the words that `plumb merge` compares
// by.
int compare_shard(const CompareRequest& request, std::vector<std::string> command,
                  const Opened& opened, RunContext& context);

// `plumb compare` as one of several ranks; the exit status.
int compare_with_ranks(const CompareRequest& request, RunContext& context);

}  // namespace plumb::cli
