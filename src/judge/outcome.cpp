// SPDX-License-Identifier: Apache-2.0
#include "judge/outcome.h"

#include <algorithm>

namespace plumb::judge {
namespace {

using result::Row;
using result::Verdict;

bool is_missing(const Row& row) {
  return std::all_of(row.reasons.begin(), row.reasons.end(), [](const std::string& reason) {
    return reason == "no_golden" || reason == "no_target" || reason == "filtered";
  });
}

bool is_fine(const Row& row, const Allowance& allowed) {
  switch (row.verdict) {
    case Verdict::kPass: return true;
    case Verdict::kFail: return false;
    case Verdict::kInconclusive: return allowed.inconclusive;
    case Verdict::kNotCompared: break;
  }
  return row.is_excused() || (allowed.missing && is_missing(row));
}

}  // namespace

Result<Allowance> allowance_from(const std::vector<std::string>& words) {
  Allowance allowed;
  for (const std::string& word : words) {
    if (word == "inconclusive")
      allowed.inconclusive = true;
    else if (word == "missing")
      allowed.missing = true;
    else
      return Error{"unknown word '" + word + "'", "--allow " + word, "use inconclusive or missing"};
  }
  return allowed;
}

Outcome outcome_of(const result::Run& run, const Allowance& allowed) {
  const auto is_compared = [](const Row& row) { return row.verdict != Verdict::kNotCompared; };
  if (std::none_of(run.rows.begin(), run.rows.end(), is_compared)) return Outcome::kTrouble;
  if (run.baseline && !run.baseline->holds()) return Outcome::kDifference;
  // No part that may be missing: a graph that does not fit, outputs of the model.
  if (!run.doubts.empty() || !run.outputs_not_compared.empty()) return Outcome::kDifference;
  const bool all_fine = std::all_of(run.rows.begin(), run.rows.end(),
                                    [&](const Row& row) { return is_fine(row, allowed); });
  return all_fine ? Outcome::kAgreement : Outcome::kDifference;
}

}  // namespace plumb::judge
