// SPDX-License-Identifier: Apache-2.0
#include "input/image.h"

#include <gmock/gmock.h>

#include "input/expected.h"

namespace plumb::input {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string content_of(const std::string& name) {
  auto file = MappedFile::open(data_file(name));
  EXPECT_TRUE(file);
  return std::string(as_text(file->bytes()));
}

struct Decoded {
  Result<Image> image;
  std::string printed;
};

Decoded decoded(const std::string& file) {
  testing::internal::CaptureStderr();
  auto image = decode_image(as_bytes(file));
  return {std::move(image), testing::internal::GetCapturedStderr()};
}

TEST(Image, HarmlessWarningsOfTheLibraryAreNotPrinted) {
  SKIP_WITHOUT_CODEC();
  using namespace std::string_view_literals;
  const std::string plain = content_of("picture.png");
  std::string odd = plain;
  odd.insert(33, "\0\0\0\4gAMA\0\0\0\0\x8b\x25\x60\x4d"sv);  // behind IHDR: a gamma of 0
  const Decoded made = decoded(odd);
  ASSERT_TRUE(made.image) << why(made.image.error());
  EXPECT_EQ(made.image->bytes, decoded(plain).image->bytes);
  EXPECT_THAT(made.printed, IsEmpty());
}

TEST(Image, WhatTheLibraryRefusesIsOurError) {
  SKIP_WITHOUT_CODEC();
  const Decoded made = decoded(content_of("picture.png").substr(0, 300));
  ASSERT_FALSE(made.image);
  EXPECT_EQ(made.image.error().what, "the picture cannot be decoded");
  EXPECT_THAT(made.image.error().where, HasSubstr("libpng error"));
  EXPECT_THAT(made.printed, IsEmpty());
}

// It fills what it cannot decode with some colour: nobody else would tell.
TEST(Image, DamageThatTheLibraryPapersOverIsPrinted) {
  SKIP_WITHOUT_CODEC();
  std::string damaged = content_of("picture.jpg");
  damaged.replace(damaged.size() - 200, 10, 10, 'U');
  EXPECT_THAT(decoded(damaged).printed, HasSubstr("Corrupt JPEG data"));
}

}  // namespace
}  // namespace plumb::input
