// SPDX-License-Identifier: Apache-2.0
#include "report/usual_limits.h"

#include <algorithm>
#include <map>

namespace plumb::report {
namespace {

// The class of limits that most of the compared rows fall under.
std::string usual_class(const result::Run& run) {
  std::map<std::string, int64_t> rows;
  for (const result::Row& row : run.rows) {
    if (!row.target || !row.golden || row.verdict == result::Verdict::kNotCompared) continue;
    const auto any_is = [&](std::string_view dtype) {
      return row.target->dtype == dtype || row.golden->dtype == dtype;
    };
    const auto all_start = [&](std::string_view word) {
      return row.target->dtype.starts_with(word) && row.golden->dtype.starts_with(word);
    };
    ++rows[any_is("bfloat16")                      ? "bfloat16"
           : any_is("float16")                     ? "float16"
           : all_start("float")                    ? "float32"
           : all_start("int") || all_start("uint") ? "integer"
                                                   : ""];
  }
  const auto most = std::max_element(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == rows.end()) return "";
  const auto has = [&](const result::AppliedLimit& limit) { return limit.dtype == most->first; };
  return std::any_of(run.limits.begin(), run.limits.end(), has) ? most->first : "";
}

}  // namespace

UsualLimits::UsualLimits(const result::Run& run) : run_(run), class_(usual_class(run)) {}

const result::AppliedLimit* UsualLimits::of(std::string_view metric) const {
  for (const result::AppliedLimit& limit : run_.limits)
    if (limit.dtype == class_ && limit.metric == metric) return &limit;
  return nullptr;
}

}  // namespace plumb::report
