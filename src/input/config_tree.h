// SPDX-License-Identifier: Apache-2.0
//
// A configuration as written, whatever it means: fields in their order, with their lines.
// Protobuf's text format and JSON (with comments) become the same tree, in which a list is a field
// that is there several times. Nothing is dropped: what nobody knows can still be shown and written
// again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/result.h"

namespace plumb::input {

struct ConfigNode {
  enum class Kind : uint8_t {
    kMessage,
    kText,
    kWord
  };  // kWord: numbers, true, names without quotes

  std::string name;
  Kind kind = Kind::kMessage;
  std::string value;  // unquoted
  std::vector<ConfigNode> fields;
  int line = 0;

  const ConfigNode* find(std::string_view field) const;  // the last of that name, as protobuf does
  std::vector<const ConfigNode*> all(std::string_view field) const;
  std::optional<double> number() const;
};

inline constexpr size_t kMaxConfigBytes = size_t{16} << 20;
inline constexpr size_t kMaxConfigDepth = 64;

// The root is a message without a name. Errors say "line N".
Result<ConfigNode> tree_from_prototxt(std::string_view text);
// Comments of C, C++ and Python and commas at the end of a list are fine.
Result<ConfigNode> tree_from_json(std::string_view text);

// As protobuf text that reads back to the same tree, lines aside.
std::string to_prototxt(const ConfigNode& root);

}  // namespace plumb::input
