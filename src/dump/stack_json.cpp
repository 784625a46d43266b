// SPDX-License-Identifier: Apache-2.0
#include "dump/stack_json.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace plumb::dump {
namespace {

using simdjson::dom::element;

std::string trimmed_frame(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// A list of frames, or the whole stack as one string.
std::string frames_of(element value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return trimmed_frame(text);
  simdjson::dom::array list;
  std::string stack;
  if (value.get(list) != simdjson::SUCCESS) return stack;
  for (element frame : list) {
    if (frame.get(text) != simdjson::SUCCESS) continue;
    if (!stack.empty()) stack += '\n';
    stack += trimmed_frame(text);
  }
  return stack;
}

// The two lists of the newer form; false if it is the older one.
bool shared_stack(element value, simdjson::dom::array& names, element& frames) {
  simdjson::dom::array list;
  return value.get(list) == simdjson::SUCCESS && list.size() == 2 &&
         list.at(0).get(names) == simdjson::SUCCESS && list.at(1).get(frames) == simdjson::SUCCESS;
}

}  // namespace

Result<Stacks> parse_stack_json(Bytes file) {
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  const simdjson::padded_string text(as_text(file));
  if (const auto code = parser.parse(text).get(root))
    return Error{"stack.json is damaged", fmt::format("byte 0: {}", simdjson::error_message(code)),
                 "copy the file again; call stacks are left out"};
  Stacks stacks;
  for (const auto& [key, value] : root) {
    simdjson::dom::array names;
    element frames;
    if (!shared_stack(value, names, frames)) {
      stacks.emplace(key, std::make_shared<const std::string>(frames_of(value)));
      continue;
    }
    const auto stack = std::make_shared<const std::string>(frames_of(frames));
    for (element name : names) {
      std::string_view api;
      if (name.get(api) == simdjson::SUCCESS) stacks.emplace(api, stack);
    }
  }
  return stacks;
}

}  // namespace plumb::dump
