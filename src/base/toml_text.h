// SPDX-License-Identifier: Apache-2.0
//
// The one way into toml++ for the files users write: profiles, rules, maps. Hostile text is an
// error like any other. Takes seconds to compile; include it from .cpp files only.
#pragma once

#include <string>
#include <string_view>

#include "plumb/result.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 8  // see toml_text.cpp
// toml++ 3.3 asserts, or lets the compiler assume, what "[[[" refutes; what follows its assertions
// copes without them.
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT
#define TOML_ASSERT(condition) static_assert(true)
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(condition) static_assert(true)
#include <toml++/toml.h>

namespace plumb {

std::string place(const toml::source_region& source);  // "line 3, column 1"

// Errors start with "line N".
Result<toml::table> parse_toml(std::string_view text);

}  // namespace plumb
