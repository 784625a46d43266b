// SPDX-License-Identifier: Apache-2.0
#include "input/color.h"

#include "input/expected.h"

namespace plumb::input {
namespace {

Image image_of(ColorSpace space, Size size, std::vector<uint8_t> bytes) {
  return {size, space, std::move(bytes)};
}

Image raw_image(const std::string& name, ColorSpace space) {
  auto file = MappedFile::open(data_file(name));
  const auto* first = reinterpret_cast<const uint8_t*>(file->bytes().data());
  return {{8, 6}, space, {first, first + file->bytes().size()}};
}

TEST(Color, SwapsChannels) {
  const Image bgr = image_of(ColorSpace::kBgr, {2, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(converted(bgr, ColorSpace::kRgb, {})->bytes, (std::vector<uint8_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(converted(bgr, ColorSpace::kBgr0, {})->bytes,
            (std::vector<uint8_t>{1, 2, 3, 0, 4, 5, 6, 0}));
  const Image bgr0 = image_of(ColorSpace::kBgr0, {1, 1}, {1, 2, 3, 9});
  EXPECT_EQ(converted(bgr0, ColorSpace::kRgb, {})->bytes, (std::vector<uint8_t>{3, 2, 1}));
  const Image gray = image_of(ColorSpace::kGray, {2, 1}, {7, 8});
  EXPECT_EQ(converted(gray, ColorSpace::kBgr, {})->bytes, (std::vector<uint8_t>{7, 7, 7, 8, 8, 8}));
}

TEST(Color, GrayIsTheWeightedSum) {
  EXPECT_EQ(converted(picture(), ColorSpace::kGray, {})->bytes, bytes_of(expected("gray")));
  // By hand: 0.114 * 255 = 29.07, 0.587 * 255 = 149.685, 0.299 * 255 = 76.245.
  const Image pure =
      image_of(ColorSpace::kBgr, {4, 1}, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255});
  EXPECT_EQ(converted(pure, ColorSpace::kGray, {})->bytes,
            (std::vector<uint8_t>{29, 150, 76, 255}));
}

// By hand, from R = Y + 1.402 (V - 128) and so on.
TEST(Color, OnePixelByHand) {
  const Image yuv = image_of(ColorSpace::kNv12, {2, 2}, {100, 100, 100, 100, 90, 180});
  const YuvRule full{ColorStandard::kFull, {}};
  // R = 100 + 1.402 * 52 = 172.904; G = 100 + 0.344136 * 38 - 0.714136 * 52 = 75.942;
  // B = 100 - 1.772 * 38 = 32.664
  const auto rgb = converted(yuv, ColorSpace::kRgb, full)->bytes;
  EXPECT_EQ(std::vector<uint8_t>(rgb.begin(), rgb.begin() + 3),
            (std::vector<uint8_t>{173, 76, 33}));
  // R = 1.164 * 84 + 1.596 * 52 = 180.768; G = 97.776 + 0.392 * 38 - 0.813 * 52 = 70.396;
  // B = 97.776 - 2.017 * 38 = 21.13
  const YuvRule studio{ColorStandard::kStudio, {}};
  const auto bgr = converted(yuv, ColorSpace::kBgr, studio)->bytes;
  EXPECT_EQ(std::vector<uint8_t>(bgr.begin(), bgr.begin() + 3),
            (std::vector<uint8_t>{21, 70, 181}));
}

TEST(Color, YuvFilesAgreeWithNumpy) {
  const std::pair<std::string, ColorSpace> files[] = {{"yuv.nv12", ColorSpace::kNv12},
                                                      {"yuv.nv21", ColorSpace::kNv21},
                                                      {"yuv.yuyv", ColorSpace::kYuyv},
                                                      {"yuv.uyvy", ColorSpace::kUyvy}};
  for (const auto& [name, space] : files)
    for (const auto& [standard, key] :
         {std::pair{ColorStandard::kFull, "rgb_full"}, {ColorStandard::kStudio, "rgb_studio"}}) {
      auto rgb = converted(raw_image(name, space), ColorSpace::kRgb, {standard, {}});
      ASSERT_TRUE(rgb) << why(rgb.error());
      EXPECT_EQ(rgb->bytes, bytes_of(expected(key))) << name << " " << key;
    }
}

TEST(Color, MakesNv12) {
  for (const auto& [standard, key] :
       {std::pair{ColorStandard::kFull, "nv12_full"}, {ColorStandard::kStudio, "nv12_studio"}}) {
    auto made = converted(picture(), ColorSpace::kNv12, {standard, {}});
    ASSERT_TRUE(made) << why(made.error());
    EXPECT_EQ(made->bytes, bytes_of(expected(key))) << key;
  }
}

TEST(Color, YuvToYuvMovesSamples) {
  const Image nv12 = raw_image("yuv.nv12", ColorSpace::kNv12);
  EXPECT_EQ(converted(nv12, ColorSpace::kNv21, {})->bytes,
            raw_image("yuv.nv21", ColorSpace::kNv21).bytes);
  EXPECT_EQ(converted(nv12, ColorSpace::kYuyv, {})->bytes,
            raw_image("yuv.yuyv", ColorSpace::kYuyv).bytes);
  const Image uyvy = raw_image("yuv.uyvy", ColorSpace::kUyvy);
  EXPECT_EQ(converted(uyvy, ColorSpace::kNv12, {})->bytes, nv12.bytes);
}

// The sample matrix of the vendor's document is studio swing with offsets divided by 256.
TEST(Color, MatrixGivesTheSameAsTheStandard) {
  const YuvRule matrix{ColorStandard::kMatrix,
                       {1.164, 2.017, 0, -276.8 / 256, 1.164, -0.392, -0.813, 135.616 / 256, 1.164,
                        0, 1.596, -222.912 / 256}};
  const Image nv12 = raw_image("yuv.nv12", ColorSpace::kNv12);
  EXPECT_EQ(converted(nv12, ColorSpace::kBgr, matrix)->bytes,
            converted(nv12, ColorSpace::kBgr, {ColorStandard::kStudio, {}})->bytes);
}

TEST(Color, RefusesWhatNobodyKnows) {
  const Image nv12 = raw_image("yuv.nv12", ColorSpace::kNv12);
  const auto legacy = converted(nv12, ColorSpace::kRgb, {ColorStandard::kLegacy, {}});
  ASSERT_FALSE(legacy);
  EXPECT_EQ(legacy.error().where, "CSC_LEGACY: its coefficients are not published");
  EXPECT_FALSE(converted(nv12, ColorSpace::kRgb, {}));
  EXPECT_FALSE(converted(picture(), ColorSpace::kNv12, {ColorStandard::kMatrix, {}}));
  const Image odd = image_of(ColorSpace::kGray, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(converted(odd, ColorSpace::kNv12, {ColorStandard::kFull, {}}));
}

TEST(Color, Names) {
  EXPECT_EQ(color_space_from_name("nv12"), ColorSpace::kNv12);
  EXPECT_EQ(color_space_from_name("BGR"), ColorSpace::kBgr);
  EXPECT_EQ(color_space_from_name("bgra"), std::nullopt);
  EXPECT_EQ(size_from_text("640x480"), (Size{640, 480}));
  EXPECT_EQ(size_from_text("224"), (Size{224, 224}));
  for (const char* bad : {"", "0", "-1", "1x", "x1", "1x1x1", "99999999999x1", "70000x70000"})
    EXPECT_EQ(size_from_text(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace plumb::input
