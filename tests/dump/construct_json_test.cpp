// SPDX-License-Identifier: Apache-2.0
#include "dump/construct_json.h"

#include <gtest/gtest.h>

namespace plumb::dump {
namespace {

TEST(ConstructJson, ParentsWithAndWithoutMicroSteps) {
  const auto parents = parse_construct_json(as_bytes(std::string_view(R"({
    "megatron_micro_step_number": 2,
    "Functional.relu.0.forward": "Module.a.Net.forward.0",
    "Functional.relu.1.forward": ["Module.b.Net.forward.0", 1],
    "Module.a.Net.forward.0": null,
    "Module.b.Net.forward.0": [null, 0],
    "odd": [], "number": 3})")));
  ASSERT_TRUE(parents);
  EXPECT_EQ(*parents, (Parents{{"Functional.relu.0.forward", "Module.a.Net.forward.0"},
                               {"Functional.relu.1.forward", "Module.b.Net.forward.0"}}));
}

TEST(ConstructJson, DamagedFiles) {
  for (std::string_view text : {"", "[]", "{", "{\"a\": }"}) {
    SCOPED_TRACE(text);
    const auto parents = parse_construct_json(as_bytes(text));
    ASSERT_FALSE(parents);
    EXPECT_EQ(parents.error().what, "construct.json is damaged");
  }
}

}  // namespace
}  // namespace plumb::dump
