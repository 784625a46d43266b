// SPDX-License-Identifier: Apache-2.0
//
// The test vectors of RFC 4648, section 10, and what is no base64.
#include "base/base64.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

std::string encoded(std::string_view bytes) {
  std::string text;
  append_base64(text, as_bytes(bytes));
  return text;
}

TEST(Base64, Vectors) {
  const std::pair<const char*, const char*> kCases[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kCases) {
    EXPECT_EQ(encoded(bytes), text);
    const auto read = from_base64(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(std::string(read->begin(), read->end()), bytes);
  }
  std::string behind = "text ";
  append_base64(behind, as_bytes("\xfb\xff"));
  EXPECT_EQ(behind, "text +/8=");
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "====", "Z===", "Zg==Zg==", "Zm 9v", "Zm9\n", "Zm9-", "Zm9_", "Zm\xff="})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace plumb
