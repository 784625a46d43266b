// SPDX-License-Identifier: Apache-2.0
#include "dump/operator_patterns.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "base/nearest.h"

namespace plumb::dump {

Result<void> check_patterns(std::span<const std::string> patterns,
                            const std::set<std::string>& operators) {
  const auto matches_any = [&](const std::string& pattern) {
    return std::any_of(operators.begin(), operators.end(),
                       [&](const std::string& name) { return operator_matches(pattern, name); });
  };
  if (patterns.empty() || std::any_of(patterns.begin(), patterns.end(), matches_any)) return {};
  const std::string& pattern = patterns.front();
  std::vector<std::string> names(operators.begin(), operators.end());
  // Of a name that goes on somehow, the beginning may be misspelt.
  const bool goes_on = pattern.ends_with('*');
  std::string bare = pattern;
  std::erase_if(bare, [](char c) { return c == '*' || c == '?'; });
  if (goes_on)
    for (std::string& name : names) name = name.substr(0, bare.size()) + '*';
  return Error{fmt::format("no operator matches '{}'", pattern),
               fmt::format("--op {}: {} operator{} looked at", pattern, names.size(),
                           names.size() == 1 ? " was" : "s were"),
               did_you_mean(goes_on ? bare + '*' : bare, names) +
                   "`plumb inspect` lists them; * stands for any letters"};
}

}  // namespace plumb::dump
