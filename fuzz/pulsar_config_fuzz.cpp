// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a configuration of every kind. What is accepted can be linted, means something for
// any input, and protobuf text written again reads back as the same fields.
#include <algorithm>

#include "input/lint.h"
#include "must_hold.h"

using namespace plumb;
using namespace plumb::input;

namespace {

bool same_tree(const ConfigNode& a, const ConfigNode& b) {
  return a.name == b.name && a.kind == b.kind && a.value == b.value &&
         std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(), same_tree);
}

bool is_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Extensions ([a.b]: 1) and a sign apart from its number are kept, but not written the same.
bool is_ordinary(const ConfigNode& node) {
  return std::all_of(node.fields.begin(), node.fields.end(), [](const ConfigNode& field) {
    return is_name(field.name) &&
           (field.kind != ConfigNode::Kind::kWord ||
            field.value.find_first_of(" \t\r\n\f\v#") == std::string::npos) &&
           is_ordinary(field);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto tree = tree_from_prototxt(text); tree && is_ordinary(*tree)) {
    const auto again = tree_from_prototxt(to_prototxt(*tree));
    must_hold(again && same_tree(*tree, *again));
  }
  const auto config = parse_config(text, "/nonexistent/config");
  if (!config) {
    must_hold(!config.error().what.empty() && !config.error().where.empty() &&
              !config.error().remedy.empty());
    return 0;
  }
  preprocess_for(*config, "data");
  LintInput input;
  input.config = &*config;
  input.other = &*config;
  for (const LintFinding& finding : lint(input).findings) {
    must_hold(!finding.what.empty() && !finding.fix.empty());
    must_hold(finding.rule != "L12");  // nothing differs from itself
  }
  return 0;
}
