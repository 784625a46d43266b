// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a pair whose values were read: a verdict by the profile, by the noise of a second
// golden run, or by what whole numbers are; and what is said of a pair that has none.
#pragma once

#include "compare/stream.h"

namespace plumb::compare {

void leave_out(result::Row& row, std::string_view reason, std::string message);
void fail(result::Row& row, std::string_view reason, std::string message);
// What agrees says nothing where there is nothing that could differ.
void doubt(result::Row& row, std::string_view reason, std::string message);
std::string in_words(const Error& error);

// What hinders a comparison of values.
struct Obstacle {
  std::string_view reason;
  std::string message;
  bool is_difference = false;
};

std::optional<Obstacle> obstacle_of(dump::EntryReader& target, dump::EntryReader& golden,
                                    bool is_flat);

// One tensor of one file, by whatever path; a second name of its data (a hard link) is a copy.
bool is_same_tensor(const dump::DumpSet& a_set, const dump::Entry& a, const dump::DumpSet& b_set,
                    const dump::Entry& b);

using FloorOf = std::unordered_map<const dump::Entry*, const dump::Entry*>;  // by golden entry

// What all rows of a run are judged with.
struct Judging {
  const Sides& sides;
  const StreamOptions& options;
  const FloorOf& floor_of;
  dump::FileCache& files;
  const RunContext& context;
};

// The row has its values already. `closeness` is null where the rules set no tolerance.
void judge_pair(const Judging& with, const pair::PlannedRow& planned,
                const metrics::PairFacts& facts, const metrics::Closeness* closeness,
                dump::EntryReader& target, dump::EntryReader& golden, result::Row& row);

}  // namespace plumb::compare
