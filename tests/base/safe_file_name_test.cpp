// SPDX-License-Identifier: Apache-2.0
#include "base/safe_file_name.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(SafeFileName, KeepsPlainCharactersAndLength) {
  EXPECT_EQ(safe_file_name(""), "");
  EXPECT_EQ(safe_file_name("azAZ09_-"), "azAZ09_-");
  EXPECT_EQ(safe_file_name("../a b.c:0"), "___a_b_c_0");
  EXPECT_EQ(safe_file_name(std::string_view("\0\xc3\xa9", 3)), "___");
}

}  // namespace
}  // namespace plumb
