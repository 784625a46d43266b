// SPDX-License-Identifier: Apache-2.0
//
// Apart, so that the compiler makes the serializer and the parser of Json only here.
#include "base/json_values.h"

namespace plumb {
namespace {

std::string dumped(const Json& json, int indent, bool is_ascii) {
  return json.dump(indent, ' ', is_ascii, Json::error_handler_t::replace);
}

}  // namespace

std::string line_of_json(const Json& json) { return dumped(json, -1, false); }
std::string ascii_of_json(const Json& json) { return dumped(json, -1, true); }
std::string text_of_json(const Json& json, int indent) {
  return dumped(json, indent, false) + "\n";
}

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

}  // namespace plumb
