// SPDX-License-Identifier: Apache-2.0
#include "dump/construct_json.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace plumb::dump {

Result<Parents> parse_construct_json(Bytes file) {
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  const simdjson::padded_string text(as_text(file));
  if (const auto code = parser.parse(text).get(root))
    return Error{"construct.json is damaged",
                 fmt::format("byte 0: {}", simdjson::error_message(code)), "copy the file again"};
  Parents parents;
  for (const auto& [call, value] : root) {
    simdjson::dom::element parent = value;
    simdjson::dom::array with_step;
    if (value.get(with_step) == simdjson::SUCCESS && with_step.at(0).get(parent)) continue;
    std::string_view name;
    if (parent.get(name) == simdjson::SUCCESS) parents.emplace(call, name);
  }
  return parents;
}

}  // namespace plumb::dump
