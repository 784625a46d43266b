// SPDX-License-Identifier: Apache-2.0
//
// YAML as mapping files use it: texts, lists and tables of a few levels. The only place that knows
// the YAML library; its exceptions stop here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plumb/result.h"

namespace plumb::msprobe {

struct Yaml {
  enum class Kind : uint8_t { kText, kList, kTable };
  Kind kind = Kind::kText;
  int line = 0;                    // counted from 1
  std::string text;                // numbers and truth values as they are written; nothing is ""
  std::vector<Yaml> items;         // of a list, or the values of a table
  std::vector<std::string> names;  // of a table, parallel to the items; each once

  const Yaml* find(std::string_view name) const;
  bool is_nothing() const { return kind == Kind::kText && text.empty(); }
};

// The one document in it; an empty text if there is none. Errors start with "line N". Anchors and
// deep nesting are refused: a few lines of them can stand for any amount of data.
Result<Yaml> parse_yaml(std::string_view text);
Result<Yaml> read_yaml(const std::string& path);

}  // namespace plumb::msprobe
