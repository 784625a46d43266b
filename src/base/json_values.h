// SPDX-License-Identifier: Apache-2.0
//
// What all JSON documents that we write have in common: numbers that JSON has no word for, members
// that may be missing, and text of any bytes.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "plumb/result.h"

namespace plumb {

using Json = nlohmann::ordered_json;  // members keep the order in which they are added

// JSON has no numbers for "nan", "inf" and "-inf".
inline Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// Null if there is none.
template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
inline Json optional_json(const std::optional<double>& value) {
  return value ? number_json(*value) : Json();
}

inline Json error_json(const Error& error) {
  return {{"what", error.what}, {"where", error.where}, {"try", error.remedy}};
}

inline Json tool_json() { return {{"name", "plumb"}, {"version", PLUMB_VERSION}}; }

// Writing and reading are compiled once: they are most of what the library costs the compiler.

// On one line, without its end. Names in files may be any bytes.
std::string line_of_json(const Json& json);
// The same in ASCII: other characters are escaped.
std::string ascii_of_json(const Json& json);
// A document for people to read, too.
std::string text_of_json(const Json& json, int indent = 1);

// Discarded (see is_discarded()) where `text` is no JSON.
Json parse_json(std::string_view text);

}  // namespace plumb
