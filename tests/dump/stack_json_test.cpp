// SPDX-License-Identifier: Apache-2.0
#include "dump/stack_json.h"

#include <map>

#include <gtest/gtest.h>

namespace plumb::dump {
namespace {

std::map<std::string, std::string> stacks_of(std::string_view text) {
  const auto stacks = parse_stack_json(as_bytes(text));
  if (!stacks) return {{"error", stacks.error().what}};
  std::map<std::string, std::string> texts;
  for (const auto& [api, stack] : *stacks) texts[api] = *stack;
  return texts;
}

TEST(StackJson, BothForms) {
  const auto shared = stacks_of(
      R"({"0": [["Torch.add.0.forward", "Torch.mul.0.forward"], ["File a, \n x \n", "File b"]]})");
  EXPECT_EQ(shared.at("Torch.add.0.forward"), "File a, \n x\nFile b");
  EXPECT_EQ(shared.at("Torch.mul.0.forward"), "File a, \n x\nFile b");
  const auto older =
      stacks_of(R"({"Torch.add.0.forward": ["File a"], "Torch.mul.0.forward": "File b"})");
  EXPECT_EQ(older.at("Torch.add.0.forward"), "File a");
  EXPECT_EQ(older.at("Torch.mul.0.forward"), "File b");
}

TEST(StackJson, OddContent) {
  EXPECT_TRUE(stacks_of("{}").empty());
  EXPECT_EQ(stacks_of(R"({"a": 3, "b": [[], []]})").at("a"), "");
  EXPECT_EQ(stacks_of("[1]").at("error"), "stack.json is damaged");
  EXPECT_EQ(stacks_of("{\"a\": ").at("error"), "stack.json is damaged");
}

}  // namespace
}  // namespace plumb::dump
