// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace plumb::cli {

size_t terminal_width() {
  winsize size = {};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool shows_ascii_only() {
  if (::isatty(STDOUT_FILENO) != 1) return false;                // files are UTF-8 everywhere
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set counts
    const char* const set = std::getenv(variable);
    if (set == nullptr || *set == '\0') continue;
    const std::string_view locale(set);
    return locale.find("UTF-8") == locale.npos && locale.find("utf8") == locale.npos &&
           locale.find("UTF8") == locale.npos && locale.find("utf-8") == locale.npos;
  }
  return true;
}

bool colour_is_wanted() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace plumb::cli
