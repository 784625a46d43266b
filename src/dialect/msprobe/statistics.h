// SPDX-License-Identifier: Apache-2.0
//
// The numbers and the determination of msprobe's statistics and MD5 modes: differences of what a
// dump recorded instead of the data, and rules that look at all tensors of an API together.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dialect/msprobe/real_data.h"
#include "dump/dump.h"

namespace plumb::msprobe {

inline const Statistics kNothingRecorded;

// A tensor or argument of an API on both sides. Borrows from the dumps.
struct StatisticRow {
  const Statistics* target = &kNothingRecorded;
  const Statistics* golden = &kNothingRecorded;
  bool is_output = false;
  bool is_argument = false;  // a Python value, no tensor
  bool is_matched = true;    // golden has it
  bool is_refused = false;   // ... in a form it cannot be compared with
  bool is_empty = false;     // a tensor without elements
  std::string why_unmatched;
  std::string_view target_dtype, golden_dtype;  // empty: not to be compared
  const Shape *target_shape = nullptr, *golden_shape = nullptr;
};

// max, min, mean, l2norm.
struct Difference {
  std::optional<double> difference;  // none unless both sides have the number
  std::optional<double> relative;    // |difference / golden|, infinite where golden is zero

  std::optional<double> ratio() const {  // that can be compared with others
    return relative && *relative == *relative ? relative : std::nullopt;
  }
};
using Differences = std::array<Difference, 4>;
Difference difference_of(std::optional<double> target, std::optional<double> golden);
Differences differences_of(const StatisticRow& row);
// Of one side, if it has extremes at all; NaN for what it lacks.
std::optional<SideNumbers> side_numbers(const Statistics& statistics);

bool is_bad(std::optional<double> number);  // NaN or infinite
// An extreme of target is, where golden has a number or another NaN or infinity.
bool turned_bad(const StatisticRow& row);

Judged refused(const StatisticRow& row);

// The call whose rows are judged together, `function` being its middle name ("relu"): some
// functions leave memory as it is, or have inputs that are filled elsewhere, and are judged more
// mildly. `as_original`: by msprobe's rules alone, which let errors pass that an input had before.
struct JudgedCall {
  std::span<const StatisticRow> rows;
  std::string_view function;
  bool as_original = false;
  bool is_saved = false;  // by hand: there are no inputs that an error could be held against
};
std::vector<Judged> judge_statistics(const JudgedCall& call,
                                     std::span<const Differences> differences);

// What is known of the data of a row, beside what was recorded.
struct TensorNumbers {
  const RealData* data = nullptr;
  std::optional<double> cosine, below_1e3;
  std::string_view trouble;  // why there are no data
  bool is_failure = false;   // they cannot be compared: sizes differ
};
std::vector<Judged> judge_tensors(const JudgedCall& call, std::span<const TensorNumbers> numbers);

// Warns of a row in which a statistic differs by more than `most` times its size, as earlier
// releases of the tool did of all rows.
void judge_magnitude(const StatisticRow& row, double most, Judged& judged);

// What is compared in MD5 mode: the recorded checksum, or the CRC-32 of a Python value's text.
std::string checksum_of(const Statistics& statistics, bool is_argument);
std::vector<Judged> judge_checksums(const JudgedCall& call);

}  // namespace plumb::msprobe
