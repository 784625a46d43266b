// SPDX-License-Identifier: Apache-2.0
//
// The four words a row, an output or a whole run is judged with. What each means: docs/verdicts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

enum class Verdict : uint8_t { kPass, kFail, kInconclusive, kNotCompared };
std::string_view name_of(Verdict verdict);  // "pass", "fail", "inconclusive", "not_compared"
std::optional<Verdict> verdict_by_name(std::string_view name);

}  // namespace plumb::result
#pragma GCC visibility pop
