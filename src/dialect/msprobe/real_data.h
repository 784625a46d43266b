// SPDX-License-Identifier: Apache-2.0
//
// The numbers and the determination of msprobe's real data mode, as its manual documents them:
// positions where both sides have the same NaN or infinity agree, any other NaN or infinity goes
// through to the metrics, and an error where golden is zero is infinite.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric.h"

namespace plumb::msprobe {

// How a row was determined. Words as the result file has them.
struct Judged {
  struct Clause {
    std::string_view level;  // that it gives the row; empty if it only explains
    std::string text;
  };
  std::string_view result = "N/A";     // PASS, FAIL
  std::string_view accuracy = "N/A";   // Yes, No
  std::string_view level = "warning";  // error, warning, pass
  std::vector<Clause> clauses;

  void add(std::string_view clause, std::string_view its_level = {});
  void fail(std::string_view clause);  // the row is an error
  void warn(std::string_view clause);  // a warning, if it is no error
  std::string message() const;         // clauses joined by "; "
};

// Of both sides, over pairs of finite values.
struct SideNumbers {
  double max = 0, min = 0, mean = 0, l2 = 0;
};

// Unset: the metric cannot be calculated.
struct RealData {
  std::optional<double> cosine, euclid, max_abs, max_rel, below_1e3, below_5e3;
  std::optional<SideNumbers> target, golden;
  const char* remark = "";  // why a metric is not a number; a literal
  bool is_single = false;   // one element: there is no direction to compare
  bool is_empty = false;
  std::optional<int64_t>
      first_bad;  // position of the first element beyond the limit, in plain order
};

inline constexpr double kRelativeLimit = metrics::PairSums::kBeyond;  // PASS below it

// A norm that is off by less is that of a good tensor, as the manual has it of inputs.
inline constexpr double kGoodNorm = 0.1;

RealData real_data(const metrics::PairFacts& facts);
Judged judge(const RealData& data);
// Whether accuracy is reached: as judge() says, and of what it finds no PASS the norm is within a
// tenth, too. Whole numbers are equal or they are not.
std::string_view accuracy_of(const RealData& data, bool is_whole);

// "0.5", "NaN", "inf", "N/A": as few digits as read back to the same number.
std::string text_of(std::optional<double> number);
void append_number(std::string& text, std::optional<double> number);

}  // namespace plumb::msprobe
