// SPDX-License-Identifier: Apache-2.0
#include "input/preprocess.h"

#include <cmath>

#include "input/expected.h"

namespace plumb::input {
namespace {

Resize resize_of(const char* text) {
  auto resize = resize_from_text(text);
  EXPECT_TRUE(resize) << why(resize.error());
  return *resize;
}

engine::Tensor applied(const Preprocess& how, const Image& image, const engine::Port& port) {
  auto tensor = apply(how, image, port);
  if (tensor) return *tensor;
  ADD_FAILURE() << why(tensor.error());
  return {};
}

TEST(Preprocess, LeavesAPictureOfTheRightSizeAlone) {
  const auto tensor = applied({}, picture(), port_of("x", DType::kUint8, {1, 14, 20, 3}));
  EXPECT_EQ(tensor.shape, (Shape{1, 14, 20, 3}));
  EXPECT_EQ(tensor.bytes, expected("picture").bytes);
}

TEST(Preprocess, OrdersAxes) {
  const Image image{{2, 1}, ColorSpace::kBgr, {1, 2, 3, 4, 5, 6}};
  Preprocess how;
  how.resize.kind = ResizeKind::kNone;
  const auto planes = applied(how, image, port_of("x", DType::kFloat32, {1, 3, 1, 2}));
  EXPECT_EQ(values_of<float>(planes), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  how.color = ColorSpace::kRgb;
  const auto rgb = applied(how, image, port_of("x", DType::kFloat32, {3, 1, 2}));
  EXPECT_EQ(values_of<float>(rgb), (std::vector<float>{3, 6, 2, 5, 1, 4}));
  const auto open = applied(how, image, port_of("x", DType::kUint8, {-1, -1, -1, 3}));
  EXPECT_EQ(open.shape, (Shape{1, 1, 2, 3}));
  EXPECT_EQ(bytes_of(open), (std::vector<uint8_t>{3, 2, 1, 6, 5, 4}));
}

TEST(Preprocess, ResizesAsOpenCvDoes) {
  SKIP_WITHOUT_CODEC();
  const auto port = port_of("x", DType::kUint8, {1, 7, 9, 3});
  const std::pair<Interpolation, const char*> cases[] = {
      {Interpolation::kBilinear, "resize_bilinear"},
      {Interpolation::kNearest, "resize_nearest"},
      {Interpolation::kArea, "resize_area"},
      {Interpolation::kCubic, "resize_cubic"}};
  for (const auto& [interpolation, key] : cases) {
    Preprocess how;
    how.interpolation = interpolation;
    EXPECT_EQ(applied(how, picture(), port).bytes, expected(key).bytes) << key;
  }
  const auto exact = values_of<double>(expected("exact_bilinear"));
  const auto bytes = bytes_of(applied({}, picture(), port));
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_NEAR(bytes[i], exact[i], 1.0) << i;
}

TEST(Preprocess, AlignsCorners) {
  Preprocess how;
  how.align_corners = true;
  EXPECT_EQ(applied(how, picture(), port_of("x", DType::kUint8, {1, 7, 9, 3})).bytes,
            expected("align_bilinear").bytes);
  how.interpolation = Interpolation::kArea;
  EXPECT_FALSE(apply(how, picture(), port_of("x", DType::kUint8, {1, 7, 9, 3})));
}

TEST(Preprocess, ShortSideThenCropThenNormalization) {
  SKIP_WITHOUT_CODEC();
  Preprocess how;
  how.color = ColorSpace::kRgb;
  how.resize = resize_of("short:10+crop");
  Modification scale, normalization;
  scale.slope_divisor = {255};
  normalization.kind = Modification::Kind::kNormalization;
  normalization.mean = {0.485, 0.456, 0.406};
  normalization.std = {0.229, 0.224, 0.225};
  how.modifications = {scale, normalization};
  const auto tensor = applied(how, picture(), port_of("x", DType::kFloat32, {1, 3, 8, 8}));
  EXPECT_EQ(tensor.shape, (Shape{1, 3, 8, 8}));
  const auto wanted = values_of<float>(expected("short_crop"));
  const auto got = values_of<float>(tensor);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 3e-7) << i;
}

TEST(Preprocess, Letterbox) {
  SKIP_WITHOUT_CODEC();
  Preprocess how;
  how.resize = resize_of("letterbox:114");
  EXPECT_EQ(applied(how, picture(), port_of("x", DType::kUint8, {1, 16, 16, 3})).bytes,
            expected("letterbox").bytes);
}

TEST(Preprocess, AffineByHand) {
  const Image image{{2, 1}, ColorSpace::kGray, {10, 200}};
  Preprocess how;
  Modification affine;
  affine.slope = {3};
  affine.slope_divisor = {4};
  affine.bias = {1};
  affine.bias_divisor = {8};
  how.modifications = {affine};
  const auto tensor = applied(how, image, port_of("x", DType::kFloat32, {1, 1, 1, 2}));
  EXPECT_EQ(values_of<float>(tensor), (std::vector<float>{7.625f, 150.125f}));
}

TEST(Preprocess, MakesNv12ForAModelThatTakesIt) {
  Preprocess how;
  how.color = ColorSpace::kNv12;
  how.yuv.standard = ColorStandard::kFull;
  const auto tensor = applied(how, picture(), port_of("x", DType::kUint8, {1, 21, 20, 1}));
  EXPECT_EQ(tensor.bytes, expected("nv12_full").bytes);
  how.yuv.standard = ColorStandard::kLegacy;
  EXPECT_FALSE(apply(how, picture(), port_of("x", DType::kUint8, {1, 21, 20, 1})));
}

TEST(Preprocess, StagesCanBeLookedAt) {
  std::vector<std::string> stages;
  Preprocess how;
  Modification scale;
  scale.slope_divisor = {255};
  how.modifications = {scale};
  auto tensor = apply(how, picture(), port_of("x", DType::kFloat32, {1, 3, 14, 20}),
                      [&](std::string_view stage, const engine::Tensor&) -> Result<void> {
                        stages.emplace_back(stage);
                        return {};
                      });
  ASSERT_TRUE(tensor);
  EXPECT_EQ(stages, (std::vector<std::string>{"1_decoded", "2_resized", "3_color", "4_layout",
                                              "5_modified", "6_tensor"}));
}

TEST(Preprocess, Refuses) {
  const Image image = picture();
  const auto fails = [&](const Preprocess& how, const engine::Port& port) {
    auto tensor = apply(how, image, port);
    EXPECT_FALSE(tensor);
    return tensor ? std::string() : tensor.error().what;
  };
  Preprocess none;
  none.resize.kind = ResizeKind::kNone;
  EXPECT_EQ(fails(none, port_of("x", DType::kUint8, {1, 7, 9, 3})),
            "the picture does not fit the model's input");
  EXPECT_EQ(fails({}, port_of("x", DType::kUint8, {8, 14, 20, 3})),
            "this input takes several pictures at once");
  EXPECT_EQ(fails({}, port_of("x", DType::kUint8, {10})), "a picture cannot be fed to this input");
  Preprocess gray;
  gray.color = ColorSpace::kGray;
  EXPECT_EQ(fails(gray, port_of("x", DType::kUint8, {1, 14, 20, 3})),
            "the colours do not fit the model's input");
  Preprocess mean;
  mean.modifications.resize(1);
  mean.modifications[0].kind = Modification::Kind::kNormalization;
  mean.modifications[0].mean = {1, 2};
  EXPECT_EQ(fails(mean, port_of("x", DType::kFloat32, {1, 14, 20, 3})),
            "mean has 2 numbers for 3 channels");
  mean.modifications[0].mean = {1};
  mean.modifications[0].std = {0};
  EXPECT_EQ(fails(mean, port_of("x", DType::kFloat32, {1, 14, 20, 3})), "std cannot be used");
  mean.modifications[0].std = {255};
  EXPECT_EQ(fails(mean, port_of("x", DType::kUint8, {1, 14, 20, 3})),
            "float64 values do not all fit uint8");
}

TEST(Preprocess, SizesOfHostileModels) {
  for (const char* resize : {"stretch", "letterbox", "short:4", "none"})
    for (const Shape& shape :
         {Shape{1, 3, int64_t{1} << 31, 1}, Shape{1, 3, 1, int64_t{1} << 62},
          Shape{1, 3, int64_t{1} << 40, int64_t{1} << 40}, Shape{1, 3, 0, 0}}) {
      Preprocess how;
      how.resize = resize_of(resize);
      auto tensor = apply(how, picture(), port_of("x", DType::kFloat32, shape));
      EXPECT_FALSE(tensor) << resize << " " << to_string(shape);
    }
}

TEST(Preprocess, ResizeWords) {
  EXPECT_EQ(resize_of("stretch:256x128").size, (Size{256, 128}));
  EXPECT_EQ(resize_of("short:256").short_side, 256);
  EXPECT_EQ(resize_of("letterbox:1,2,3").fill, (std::array<uint8_t, 3>{1, 2, 3}));
  EXPECT_EQ(resize_of("letterbox").fill, (std::array<uint8_t, 3>{0, 0, 0}));
  for (const char* bad :
       {"", "strech", "short", "short:0", "short:x", "letterbox:1,2", "letterbox:256",
        "letterbox:1,2,3,4", "letterbox:1,2,", "none:1", "stretch:", "short:99999999999999999999"})
    EXPECT_FALSE(resize_from_text(bad)) << bad;
  EXPECT_EQ(resize_from_text("leterbox").error().remedy.substr(0, 27),
            "did you mean 'letterbox'? u");
}

TEST(Convert, OnlyWhatSurvives) {
  const auto tensor = [](DType dtype, auto... values) {
    engine::Tensor made{dtype, {static_cast<int64_t>(sizeof...(values))}, {}};
    const auto add = [&](auto value) {
      const auto bytes = std::as_bytes(std::span(&value, 1));
      made.bytes.insert(made.bytes.end(), bytes.begin(), bytes.end());
    };
    (add(values), ...);
    return made;
  };
  EXPECT_EQ(
      values_of<float>(*converted(tensor(DType::kFloat64, 0.5, -2.0), DType::kFloat32, false)),
      (std::vector<float>{0.5f, -2.0f}));
  EXPECT_FALSE(converted(tensor(DType::kFloat64, 0.1), DType::kFloat32, false));
  EXPECT_EQ(values_of<float>(*converted(tensor(DType::kFloat64, 0.1), DType::kFloat32, true)),
            (std::vector<float>{0.1f}));
  // The largest 64-bit integers differ in their last bit only.
  const int64_t large = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(converted(tensor(DType::kInt64, large), DType::kFloat64, false));
  EXPECT_EQ(values_of<uint64_t>(*converted(tensor(DType::kInt64, large), DType::kUint64, false)),
            (std::vector<uint64_t>{static_cast<uint64_t>(large)}));
  EXPECT_FALSE(converted(tensor(DType::kInt64, int64_t{-1}), DType::kUint64, true));
  EXPECT_FALSE(converted(tensor(DType::kFloat32, std::nanf("")), DType::kInt32, true));
  EXPECT_TRUE(std::isnan(values_of<float>(
      *converted(tensor(DType::kFloat64, std::nan("")), DType::kFloat32, false))[0]));
  EXPECT_EQ(
      values_of<int64_t>(*converted(tensor(DType::kFloat32, 2.5f, 3.5f), DType::kInt64, true)),
      (std::vector<int64_t>{2, 4}));
  EXPECT_FALSE(converted(tensor(DType::kFloat32, 1e30f), DType::kInt64, true));
  EXPECT_EQ(values_of<float>(
                *converted(tensor(DType::kBool, uint8_t{0}, uint8_t{2}), DType::kFloat32, false)),
            (std::vector<float>{0, 1}));
  EXPECT_EQ(values_of<int64_t>(*converted(tensor(DType::kBool, uint8_t{7}), DType::kInt64, false)),
            (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace plumb::input
