// SPDX-License-Identifier: Apache-2.0
#include "base/name_pattern.h"

#include <fnmatch.h>

namespace plumb {
namespace {

std::string separators_replaced(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '.' || c == ':') c = '_';
  return name;
}

}  // namespace

bool operator_matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
         ::fnmatch(pattern.c_str(), separators_replaced(name).c_str(), 0) == 0;
}

std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

bool slot_matches(std::string pattern, const std::string& slot) {
  if (const size_t dot = pattern.find('.');
      dot != std::string::npos && pattern.find(':') == std::string::npos)
    pattern[dot] = ':';
  return ::fnmatch(pattern.c_str(), slot.c_str(), 0) == 0 ||
         slot.substr(0, slot.find(':')) == pattern;
}

}  // namespace plumb
