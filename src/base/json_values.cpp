// SPDX-License-Identifier: Apache-2.0
#include "base/json_values.h"

namespace plumb {
namespace {

std::string written(const Json& json, int indent, bool is_ascii) {
  return json.dump(indent, ' ', is_ascii, Json::error_handler_t::replace);
}

}  // namespace

std::string line_of_json(const Json& json) { return written(json, -1, false); }
std::string ascii_of_json(const Json& json) { return written(json, -1, true); }
std::string text_of_json(const Json& json, int indent) {
  return written(json, indent, false) + "\n";
}

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

}  // namespace plumb
