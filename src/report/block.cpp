// SPDX-License-Identifier: Apache-2.0
#include "report/block.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/text.h"

namespace plumb::report {

void Block::wrap(std::string start, size_t used, std::string_view text) {
  bool first = true;  // word in this line
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    const size_t width = display_width(word);
    if (!first && width_ > 0 && used + 1 + width > width_) {
      text_ += start + "\n";
      start.assign(kIndent, ' ');
      used = kIndent;
      first = true;
    }
    if (!first) start += ' ', ++used;
    start += word;
    used += width;
    first = false;
  }
  start.erase(start.find_last_not_of(' ') + 1);
  text_ += start + "\n";
}

void Block::verbatim(std::string_view key, std::string_view text) {
  text_ += start_of(key) + std::string(text) + "\n";
}

std::string Block::start_of(std::string_view key) const {
  const std::string word = fmt::format("{:<{}}", key, kIndent - 2);
  return colour_ && !key.empty() ? "  \033[2m" + word + "\033[0m" : "  " + word;
}

}  // namespace plumb::report
