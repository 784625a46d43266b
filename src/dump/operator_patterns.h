// SPDX-License-Identifier: Apache-2.0
//
// Names of operators as users write them: what matches nothing is mostly misspelt.
#pragma once

#include <set>
#include <span>
#include <string>

#include "plumb/result.h"

namespace plumb::dump {

// An error, with the name nearest to the first, if none of the patterns matches any operator.
Result<void> check_patterns(std::span<const std::string> patterns,
                            const std::set<std::string>& operators);

}  // namespace plumb::dump
