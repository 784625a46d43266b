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

// Brackets stand for themselves: names have them (blocks[0], [Conv]x), lists of letters nobody
// needs.
std::string with_plain_brackets(const std::string& pattern) {
  if (pattern.find('[') == std::string::npos) return pattern;
  std::string plain;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '[') plain += '\\';
    plain += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) plain += pattern[++i];
  }
  return plain;
}

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

bool operator_matches(const std::string& pattern, const std::string& name) {
  const std::string plain = with_plain_brackets(pattern);
  return matches(plain, name) || matches(plain, separators_replaced(name));
}

bool slot_matches(std::string pattern, const std::string& slot) {
  if (const size_t dot = pattern.find('.');
      dot != std::string::npos && pattern.find(':') == std::string::npos)
    pattern[dot] = ':';
  return matches(with_plain_brackets(pattern), slot) || slot.substr(0, slot.find(':')) == pattern;
}

}  // namespace plumb
