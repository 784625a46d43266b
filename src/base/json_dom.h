// SPDX-License-Identifier: Apache-2.0
//
// Members of a parsed JSON object that may be missing or of another type: such a member counts as
// absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace plumb::json_dom {

using simdjson::dom::element;

inline std::string text(element object, std::string_view key) {
  std::string_view value;
  return object[key].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
}

inline std::optional<int64_t> number(element object, std::string_view key) {
  int64_t value = 0;
  if (object[key].get(value) == simdjson::SUCCESS) return value;
  return std::nullopt;
}

// Calls `use(item)` for each item of a list.
template <class Use>
void each(element object, std::string_view key, Use use) {
  simdjson::dom::array items;
  if (object[key].get(items) != simdjson::SUCCESS) return;
  for (element item : items) use(item);
}

}  // namespace plumb::json_dom
