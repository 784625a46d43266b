// SPDX-License-Identifier: Apache-2.0
//
// The ten algorithms of msaccucmp with its rules for zeros, scalars, NaN and empty tensors, some of
// which call a broken tensor perfect. They are kept because old results must stay comparable; the
// verdicts of `plumb compare` are ours (docs/metrics.md). All take elements cast to float32 and sum
// in double.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/msaccucmp/code.h"
#include "plumb/result.h"

namespace plumb::msaccucmp {

// What the algorithms need to know of a pair: two passes over it give everything. NaN and infinity
// run through the sums.
struct Sums {
  int64_t count = 0;
  double t_sum = 0, g_sum = 0;
  double tt = 0, gg = 0, tg = 0, dd = 0;
  double abs_sum = 0, abs_max = 0;
  double rel_sum = 0, rel_max = 0;  // of |t / g - 1| where |g| is above the double epsilon
  double t_min = 0, t_max = 0, g_min = 0, g_max = 0;
  double t_squares = 0, g_squares = 0;  // of deviations from the means
  double divergence = 0;                // Kullback-Leibler
  int64_t t_nan = 0, t_inf = 0, g_nan = 0, g_inf = 0;
};

// A cell of the result; without a value it says "NaN" and the reason why. The tool writes 'nan' for
// what it computed and 'NaN' for what it did not.
struct Cell {
  std::string text;
  std::string reason;
};

// What takes a second pass.
struct Wanted {
  bool deviation = false;  // t_squares, g_squares
  bool divergence = false;
};

struct Algorithm {
  std::string_view name;
  Cell (*finish)(const Sums& sums);
  Wanted needs;
};
std::span<const Algorithm> algorithms();  // in the order of their numbers
using Selection = std::vector<const Algorithm*>;

// "all", or numbers and names with commas between; unknown ones are left out with a warning.
Outcome<Selection> select_algorithms(std::string_view text, std::vector<std::string>& warnings);
// The eight that `file_compare` has.
Selection file_algorithms();

// Hands out all pairs, front to back; called once for each pass.
using UsePairs = std::function<void(const float* target, const float* golden, int64_t count)>;
using Pairs = std::function<Result<void>(const UsePairs& use)>;

Result<Sums> sum_pairs(const Pairs& pairs, const Wanted& wanted);
// By definition, one pair at a time: what sum_pairs does with pairs that hold special values.
Result<Sums> sum_pairs_plainly(const Pairs& pairs, const Wanted& wanted);

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
Result<Scores> score(const Selection& selection, const PairTraits& traits, const Pairs& pairs);
Scores no_scores(const Selection& selection);  // all "NaN"

// True if the tool takes a tensor of this shape for a scalar: the dimensions add up to their
// number.
bool counts_as_scalar(std::span<const int64_t> shape);

}  // namespace plumb::msaccucmp
