// SPDX-License-Identifier: Apache-2.0
//
// What a finished run comes down to for a script: agreement, difference or trouble.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plumb/result.h"
#include "plumb/row.h"

namespace plumb::judge {

enum class Outcome : uint8_t {
  kAgreement,
  kDifference,  // a row failed, was inconclusive or not compared; or the run is worse than before
  kTrouble,     // nothing was compared
};

// Rows that are no difference although they do not pass.
struct Allowance {
  bool inconclusive = false;
  bool missing = false;  // without a partner
};
// From the words of --allow.
Result<Allowance> allowance_from(const std::vector<std::string>& words);

Outcome outcome_of(const result::Run& run, const Allowance& allowed = {});

}  // namespace plumb::judge
