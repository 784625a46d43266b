// SPDX-License-Identifier: Apache-2.0
//
// What the attributes of ONNX operators are where a model does not say it, and which of them newer
// versions of the operators read as an input: so that two ways to write one operator are told from
// two operators.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace plumb::graph {

struct OnnxDefault {
  std::string_view type, attribute;
  int64_t since;           // version of the operator set
  std::string_view value;  // empty: it has none
};
// Of one operator, sorted by attribute and version.
std::span<const OnnxDefault> onnx_defaults_of(std::string_view type);

// An input that was an attribute before, or may be one.
struct OnnxMoved {
  std::string_view type, attribute;
  int input;
};
std::span<const OnnxMoved> onnx_moved();

// Training only, or about how something is computed, not what.
bool is_idle_attribute(std::string_view type, std::string_view attribute);

}  // namespace plumb::graph
