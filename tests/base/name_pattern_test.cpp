// SPDX-License-Identifier: Apache-2.0
#include "base/name_pattern.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

struct MatchCase {
  const char *pattern, *name;
  bool matches;
};

TEST(NamePattern, Operators) {
  const MatchCase cases[] = {
      {"", "", true},
      {"", "conv1", false},
      {"*", "", true},
      {"*", "a/b.c:0", true},
      {"conv1", "conv1", true},
      {"conv1", "conv10", false},  // a pattern is the whole name
      {"conv?", "conv1", true},
      {"conv*", "model/conv1", false},
      {"*conv1", "model/conv1", true},  // * crosses separators
      {"model_conv1", "model/conv1", true},
      {"model_conv1_out_0", "model/conv1.out:0", true},
      {"model/conv1", "model_conv1", false},
      {"Conv1", "conv1", false},
      {"conv[12]", "conv2", false},  // brackets stand for themselves
      {"conv[12]", "conv[12]", true},
      {"blocks[*].attn", "blocks[10].attn", true},
      {"blocks[*]_attn", "blocks[10].attn", true},
      {"[Conv]x", "[Conv]x", true},
      {"[Conv]*", "[Conv]x", true},
      {"a]b[", "a]b[", true},
      {"a\\[0]", "a[0]", true},
      {"a\\*b", "a*b", true},
      {"a\\*b", "aab", false},
      {"a, b", "a, b", true},
  };
  for (const MatchCase& c : cases)
    EXPECT_EQ(operator_matches(c.pattern, c.name), c.matches) << c.pattern << " " << c.name;
}

TEST(NamePattern, Slots) {
  const MatchCase cases[] = {
      {"output:0", "output:0", true},       {"output.0", "output:0", true},
      {"output", "output:0", true},         {"output", "input:0", false},
      {"output:0", "output:01", false},     {"out", "output:0", false},
      {"input:1.2", "input:1.2", true},     {"input:*", "input:1.2", true},
      {"parameter:w", "parameter:w", true},
  };
  for (const MatchCase& c : cases)
    EXPECT_EQ(slot_matches(c.pattern, c.name), c.matches) << c.pattern << " " << c.name;
}

}  // namespace
}  // namespace plumb
