// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

std::string hex(std::array<uint8_t, 16> digest) {
  std::string text;
  for (uint8_t byte : digest) {
    char two[3];
    snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

TEST(Md5, ExamplesOfTheRfc) {
  EXPECT_EQ(hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(
      hex(md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890")),
      "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Uuid, AgreesWithPython) {  // uuid.uuid3(uuid.NAMESPACE_DNS, 'python.org').hex
  EXPECT_EQ(uuid3_hex("python.org"), "6fa459eaee8a3ca4894edb77e160355e");
}

}  // namespace
}  // namespace plumb
