// SPDX-License-Identifier: Apache-2.0
//
// What the JSON documents of this folder have in common.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "plumb/result.h"

namespace plumb::scan {

using Json = nlohmann::ordered_json;

// JSON has no numbers for "nan", "inf" and "-inf".
inline Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

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

// Names in files may be any bytes.
inline std::string text_of(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumb::scan
