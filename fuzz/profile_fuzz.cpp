// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a profile and as a rule file. What is accepted has limits, and they print to a text
// that is accepted again as the same limits.
#include <cmath>

#include <fmt/format.h>

#include "judge/profile.h"

using namespace plumb;

namespace {

void check(const judge::Profile& profile) {
  if (profile.any.limits.empty()) __builtin_trap();
  for (const judge::Limit& limit : profile.any.limits) {
    if (limit.metric == nullptr || !std::isfinite(limit.bound)) __builtin_trap();
    const std::string text = to_string(limit);
    const size_t space = text.find(' ');
    const auto again = judge::parse_profile(
        fmt::format("[limits]\n{} = \"{}\"", text.substr(0, space), text.substr(space + 1)), "");
    if (!again || again->any.limits[0].bound != limit.bound ||
        again->any.limits[0].comparison != limit.comparison)
      __builtin_trap();
  }
}

void check(const Error& error) {
  if (error.what.empty() || error.where.empty() || error.remedy.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto profile = judge::parse_profile(text, "fuzz"))
    check(*profile);
  else
    check(profile.error());
  if (const auto rules = judge::parse_rules(text, "/nonexistent")) {
    if (rules->empty()) __builtin_trap();
    for (const judge::LimitRule& rule : *rules) check(rule.profile);
  } else {
    check(rules.error());
  }
  return 0;
}
