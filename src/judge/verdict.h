// SPDX-License-Identifier: Apache-2.0
//
// Turns the numbers of a row into its verdict, with reasons, a message and a hint. The rules are
// those of docs/verdicts.md; a pass is never guessed.
#pragma once

#include <span>

#include "judge/profile.h"
#include "judge/recorded_bounds.h"
#include "metrics/sketch.h"
#include "plumb/row.h"

namespace plumb::judge {

// Sets verdict, suspicious, reasons, message and hint of a row whose shapes agree. `row.values` is
// parallel to `columns`; what is missing there is taken from `facts`.
void judge(const Limits& limits, const metrics::PairFacts& facts,
           std::span<const metrics::Metric* const> columns, result::Row& row);

// After judge() by a profile without limits for whole numbers: wide integers that differ, and pass
// as numbers would, are suspicious. They may be ids.
void remark_on_ids(const metrics::PairFacts& facts, result::Row& row);

// After judge(), of an operator that gives shares of 1, such as Sigmoid: a row that fails passes,
// as suspicious, if no error is larger than rounding of a number near 1. Kernels compute such
// values beside 1, and where all of them are tiny that is most of what is there.
void excuse_rounding_of_shares(const metrics::PairFacts& facts, result::Row& row);

// The limits that a second golden run sets: `noise` is that run against the first, `pair` the pair
// to judge. Errors may be twice the noise, and at least the resolution of the coarser type; half
// the size of golden is too much in any case. nullopt if the noise is undefined: the profile
// stands.
std::optional<Limits> floor_limits(const metrics::PairFacts& pair, const metrics::PairFacts& noise);

// As judge(), from records alone: they prove differences, and agreement only by checksum or if all
// elements are one value. `limits` are Profile::for_types.
void judge_recorded(const Limits& limits, const Statistics& target, const Statistics& golden,
                    result::Row& row);

// Goes on where records fail a row or leave it inconclusive and both sides have sketches: fails it
// if a limit is broken whatever the number is within its bounds, passes it if all limits hold so
// and there are no others than the sketches can tell about. Fills `row.values` with what was
// estimated.
void judge_estimate(const Profile& profile, const metrics::Estimate& estimate,
                    std::span<const metrics::Metric* const> columns, result::Row& row);

}  // namespace plumb::judge
