// SPDX-License-Identifier: Apache-2.0
//
// A Sigmoid, a Softmax or a gate can make a large error of what rounding leaves of its input. Where
// an operator did only that, its row is as good as those of what it read.
#pragma once

#include "compare/judge_pair.h"

namespace plumb::compare {

// The reason of a row that passes although it breaks limits.
inline constexpr std::string_view kInherited = "inherited";

// A row that fails passes, as suspicious, if the operator added nothing and what it read is good:
// at once, or where the network is found to work in 16 bits.
void excuse_inherited(const Judging& with, const judge::Profile& profile,
                      const pair::PlannedRow& planned, const metrics::PairFacts& facts,
                      dump::EntryReader& target, dump::EntryReader& golden, result::Row& row);

}  // namespace plumb::compare
