// SPDX-License-Identifier: Apache-2.0
//
// What msprobe itself calculates of two tensors in mode auto. Where golden is zero it adds the
// smallest step of the type to both sides, an infinity agrees with one of the other sign, and what
// it cannot calculate it says in a word.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "dump/dump.h"
#include "plumb/run_context.h"

namespace plumb::msprobe {

struct OriginalNumber {
  double value = 0;
  std::string_view word = {};  // instead of the value, if it is not empty

  std::optional<double> number() const {
    return word.empty() ? std::optional(value) : std::nullopt;
  }
};
// Cosine, EucDist, MaxAbsErr, MaxRelativeErr, One and Five Thousandths Err Ratio.
using OriginalNumbers = std::array<OriginalNumber, 6>;

OriginalNumbers all_of(std::string_view word);

// nullopt if the run was cancelled.
Result<std::optional<OriginalNumbers>> original_numbers(dump::EntryReader& target,
                                                        dump::EntryReader& golden,
                                                        const RunContext& context);

}  // namespace plumb::msprobe
