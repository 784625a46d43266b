// SPDX-License-Identifier: Apache-2.0
//
// How much of a large family of cases a test runs. Sanitizers take ten to thirty times as long, and
// what they look for shows in a part of it as well: they get a share, unless PLUMB_LONG asks for
// everything. The ordinary build always runs the whole family.
#pragma once

#include <cstdlib>

namespace plumb {

#ifdef PLUMB_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

inline bool is_long_run() { return std::getenv("PLUMB_LONG") != nullptr; }

// One of how many cases is run.
inline int sample_step(int step) { return kIsSanitized && !is_long_run() ? step : 1; }

// How many of `count` cases are run.
inline int sample_of(int count, int step) { return count / sample_step(step); }

}  // namespace plumb
