// SPDX-License-Identifier: Apache-2.0
//
// The ten algorithms of msaccucmp with its rules for zeros, scalars, NaN and empty tensors, some of
// which call a broken tensor perfect. They are kept because old results must stay comparable; the
// verdicts of `plumb compare` are ours (docs/metrics.md). All take elements cast to float32 and sum
// in double; the session gathers the sums (compare/policy.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/msaccucmp/code.h"
#include "metrics/metric.h"

namespace plumb::msaccucmp {

// What the algorithms need to know of a pair. NaN and infinity run through the sums. Relative
// errors are |t / g - 1| where |g| is above the double epsilon.
struct Sums : metrics::PairSums {
  double t_squares = 0, g_squares = 0;  // of deviations from the means
  double divergence = 0;                // Kullback-Leibler
};
Sums sums_of(const metrics::PairFacts& facts);

// A cell of the result; without a value it says "NaN" and the reason why. The tool writes 'nan' for
// what it computed and 'NaN' for what it did not.
struct Cell {
  std::string text;
  std::string reason;
};

struct Algorithm {
  std::string_view name;
  Cell (*finish)(const Sums& sums);
  const metrics::Accumulator* needs = nullptr;  // in a second pass
  bool relative = false;                        // reads rel_sum
};
std::span<const Algorithm> algorithms();  // in the order of their numbers
using Selection = std::vector<const Algorithm*>;

// "all", or numbers and names with commas between; unknown ones are left out with a warning.
Outcome<Selection> select_algorithms(std::string_view text, std::vector<std::string>& warnings);
// The eight that `file_compare` has.
Selection file_algorithms();

// What a session gathers for them. Elements are to be read as float32.
metrics::Request request_for(const Selection& selection);

// What the cells depend on beside the elements.
struct PairTraits {
  bool is_scalar = false;
  bool both_bool = false;
  std::string target_file, golden_file;  // for reasons
};

struct Scores {
  std::vector<std::string> cells;  // one for each algorithm
  std::vector<std::string> reasons;
  std::vector<std::string> codes;  // why not to trust the cells: LEFT_NAN, RIGHT_ALL_ZERO, ...
};
Scores score(const Selection& selection, const PairTraits& traits, const Sums& sums);

// True if the tool takes a tensor of this shape for a scalar: the dimensions add up to their
// number.
bool counts_as_scalar(std::span<const int64_t> shape);

}  // namespace plumb::msaccucmp
