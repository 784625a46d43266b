// SPDX-License-Identifier: Apache-2.0
//
// How users name operators and slots in options and rule files.
#pragma once

#include <string>

namespace plumb {

// With * and ? as in the shell (a backslash before them takes their meaning), on the exact name or
// with the separators that dump tools replace
// ('/', '.', ':') written as '_'.
bool operator_matches(const std::string& pattern, const std::string& name);

// `slot` is "output:0"; the pattern that, "output" (all outputs), or with the dump tools' dot:
// "output.0".
bool slot_matches(std::string pattern, const std::string& slot);

}  // namespace plumb
