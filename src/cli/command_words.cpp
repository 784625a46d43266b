// SPDX-License-Identifier: Apache-2.0
#include "cli/command_words.h"

#include <string_view>

namespace plumb::cli {

std::vector<std::string> words_without(int argc, char** argv,
                                       const std::vector<std::string>& dropped) {
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    bool is_dropped = false;
    for (const std::string& option : dropped) {
      const bool is_short = option.size() == 2;
      is_dropped |=
          word == option || (word.starts_with(option) && (is_short || word[option.size()] == '='));
      if (word == option) ++i;  // and its value
    }
    if (!is_dropped) words.emplace_back(word);
  }
  return words;
}

}  // namespace plumb::cli
