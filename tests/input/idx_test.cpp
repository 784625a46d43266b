// SPDX-License-Identifier: Apache-2.0
#include "input/idx.h"

#include <gtest/gtest.h>

namespace plumb::input {
namespace {

using namespace std::string_view_literals;

TEST(Idx, PicturesByNumber) {
  const auto images =
      read_idx_images(as_bytes("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02"
                               "abcd"sv));
  ASSERT_TRUE(images);
  EXPECT_EQ(images->count, 2);
  EXPECT_EQ(images->size.width, 2);
  EXPECT_EQ(images->size.height, 1);
  EXPECT_EQ(images->at(1)->bytes, (std::vector<uint8_t>{'c', 'd'}));
  EXPECT_EQ(images->at(2).error().what, "there is no picture 2");
}

TEST(Idx, NoPicturesAtAll) {
  const auto images = read_idx_images(as_bytes("\0\0\x08\x03\0\0\0\0\0\0\0\x14\0\0\0\x04"sv));
  ASSERT_TRUE(images);
  EXPECT_EQ(images->count, 0);
  EXPECT_FALSE(images->at(0));
}

TEST(Idx, CutOffAnywhere) {
  const std::string_view whole =
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02"
      "abcd"sv;
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_idx_images(as_bytes(whole.substr(0, size)))) << size;
}

}  // namespace
}  // namespace plumb::input
