// SPDX-License-Identifier: Apache-2.0
//
// The limits to show beside the numbers of a whole run: those of the class of types that most of
// its rows are of.
#pragma once

#include <string>
#include <string_view>

#include "plumb/row.h"

namespace plumb::report {

class UsualLimits {
 public:
  explicit UsualLimits(const result::Run& run);                   // borrowed
  const result::AppliedLimit* of(std::string_view metric) const;  // nullptr if there is none

 private:
  const result::Run& run_;
  std::string class_;
};

}  // namespace plumb::report
