// SPDX-License-Identifier: Apache-2.0
//
// What all JSON documents that we write have in common: numbers that JSON has no word for, members
// that may be missing, and text of any bytes.
#pragma once

#include <cmath>
#include <optional>
#include <string>

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

// On one line, without its end. Names in files may be any bytes.
inline std::string line_of_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A document for people to read, too.
inline std::string text_of_json(const Json& json, int indent = 1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumb
