// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Utf8, ValidUtf8) {
  EXPECT_EQ(valid_utf8("ok \n 卷积 \U0001F600"), "ok \n 卷积 \U0001F600");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b\xc3"),
            "a\uFFFDb\uFFFD");
  EXPECT_EQ(valid_utf8("\xe5\x8d"), "\uFFFD\uFFFD");
}

TEST(Utf8, JsonText) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "\"\""},
      {"conv1/relu", "\"conv1/relu\""},
      {"卷积", "\"卷积\""},
      {"say \"a\\b\"", "\"say \\\"a\\\\b\\\"\""},
      {"a\nb\tc\x7f", "\"a\\nb\\u0009c\\u007f\""},
      {std::string(1, '\0'), "\"\\u0000\""},
      {"\xff", "\"\uFFFD\""},
  };
  for (const auto& [text, json] : kCases) EXPECT_EQ(json_text(text), json);
}

}  // namespace
}  // namespace plumb
