// SPDX-License-Identifier: Apache-2.0
#include "result/replayed.h"

#include <algorithm>

namespace plumb::result {

bool Replayed::fails(std::string_view title) const {
  return std::any_of(errors.begin(), errors.end(), [&](const ReplayError& error) {
    return error.title == title && error.row.verdict != Verdict::kPass;
  });
}

Blame Replayed::blame() const {
  const bool inherited = fails("inherited");
  if (fails("own")) return inherited ? Blame::kBoth : Blame::kOperator;
  if (inherited) return Blame::kInputs;
  return fails("total") ? Blame::kSum : Blame::kNobody;
}

}  // namespace plumb::result
