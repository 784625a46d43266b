// SPDX-License-Identifier: Apache-2.0
//
// An operator may make much of little: a Sigmoid of scores near 100 turns what rounding leaves of
// them into another probability, and a gate that is nearly closed lets through another multiple of
// nearly nothing. Where it did only that, its row is as good as those of what it read.
#pragma once

#include "compare/judge_pair.h"

namespace plumb::compare {

// How the message of a row begins that passes although it breaks limits.
inline constexpr std::string_view kNothingAdded = "nothing was added to what was read: ";

// A row that fails passes, as suspicious, if the operator added nothing and what it read is good:
// at once, or where the network is found to work in 16 bits.
void excuse_inherited(const Judging& with, const judge::Profile& profile,
                      const pair::PlannedRow& planned, const metrics::PairFacts& facts,
                      dump::EntryReader& target, dump::EntryReader& golden, result::Row& row);

}  // namespace plumb::compare
