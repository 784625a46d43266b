// SPDX-License-Identifier: Apache-2.0
//
// The advisor: one finding about a result CSV, by the first of three rules that applies. Rows
// without a cosine are invisible to it; `plumb compare` judges those, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/msaccucmp/code.h"

namespace plumb::msaccucmp {

struct Advice {
  std::string rule = "NA", index = "NA", advice = "NA";
  std::string text() const;  // the three lines of advisor_summary.txt
};

Outcome<Advice> advise(std::string_view csv, const std::vector<std::string>& input_nodes);

}  // namespace plumb::msaccucmp
