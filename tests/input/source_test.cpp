// SPDX-License-Identifier: Apache-2.0
#include "input/source.h"

#include <fstream>

#include <stdlib.h>

#include "input/expected.h"
#include "scratch.h"

namespace plumb::input {
namespace {

Source file(const std::string& name) { return source_from_text(data_file(name)); }

const Shape kShape{1, 2, 3};
const auto kFloatPort = port_of("x", DType::kFloat32, kShape);

TEST(Source, EveryKindOfTensorFile) {
  const auto wanted = array_in("values.npy");
  for (const char* name : {"values.npy", "values_f64.npy", "values.bin", "values.pb"}) {
    auto tensor = load_input(file(name), kFloatPort, {});
    ASSERT_TRUE(tensor) << why(tensor.error());
    EXPECT_EQ(tensor->bytes, wanted.bytes) << name;
    EXPECT_EQ(tensor->shape, kShape) << name;
  }
  auto a = load_input(file("several.npz"), port_of("a", DType::kFloat32, kShape), {});
  ASSERT_TRUE(a) << why(a.error());
  EXPECT_EQ(a->bytes, wanted.bytes);
  auto b = load_input(file("several.npz"), port_of("b", DType::kInt32, {-1, -1}), {});
  ASSERT_TRUE(b) << why(b.error());
  EXPECT_EQ(b->shape, (Shape{1, 3}));
  EXPECT_EQ(values_of<int32_t>(*b), (std::vector<int32_t>{1, 2, 3}));
}

TEST(Source, OpenAxesTakeTheSizesOfTheData) {
  auto tensor = load_input(file("values.npy"), port_of("x", DType::kFloat32, {-1, 2, -1}), {});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->shape, kShape);
  // Axes of length 1 may be there on one side only.
  tensor = load_input(file("values.npy"), port_of("x", DType::kFloat32, {2, 3}), {});
  ASSERT_TRUE(tensor) << why(tensor.error());
  EXPECT_EQ(tensor->shape, (Shape{2, 3}));
  tensor = load_input(file("values.npy"), port_of("x", DType::kFloat32, {-1, 1, 2, 3}), {});
  ASSERT_TRUE(tensor) << why(tensor.error());
  EXPECT_EQ(tensor->shape, (Shape{1, 1, 2, 3}));
}

TEST(Source, WrongSizesAreNeverCut) {
  const struct {
    const char* file;
    engine::Port port;
    const char* what;
  } cases[] = {
      {"values.npy", port_of("x", DType::kFloat32, {1, 2, 2}),
       "the file does not hold what the model takes"},
      {"values.npy", port_of("x", DType::kFloat32, {1, 3, 2}),
       "the file does not hold what the model takes"},
      {"values.npy", port_of("x", DType::kFloat32, {6}),
       "the file does not hold what the model takes"},
      {"values.bin", port_of("x", DType::kFloat32, {1, 2, 4}),
       "the file does not hold what the model takes"},
      {"values.bin", port_of("x", DType::kFloat32, {1, -1, -1}), "how large should the input be?"},
      {"values.bin", port_of("x", DType::kFloat32, {-1, 5}), "how large should the input be?"},
      {"thirds_f64.npy", kFloatPort, "float64 values do not all fit float32"},
      {"several.npz", port_of("c", DType::kFloat32, kShape), "the file has no tensor 'c'"},
      {"nothing.npy", kFloatPort, ""},
      {"make_input.py", kFloatPort, "not a tensor file of a known format"},
      {"values.npy#1", kFloatPort, "only files of many pictures have numbers"},
  };
  for (const auto& c : cases) {
    auto tensor = load_input(file(c.file), c.port, {});
    ASSERT_FALSE(tensor) << c.file;
    if (c.what[0] != '\0') {
      EXPECT_EQ(tensor.error().what, c.what) << c.file;
    }
    EXPECT_NE(tensor.error().where.find(c.file), std::string::npos) << why(tensor.error());
    EXPECT_FALSE(tensor.error().remedy.empty()) << c.file;
  }
  auto shapes = load_input(file("values.npy"), port_of("x", DType::kFloat32, {1, 2, 2}), {});
  EXPECT_NE(shapes.error().where.find("takes float32 [1, 2, 2], the file has float32 [1, 2, 3]"),
            std::string::npos)
      << why(shapes.error());
  Preprocess cast;
  cast.cast = true;
  EXPECT_TRUE(load_input(file("thirds_f64.npy"), kFloatPort, cast));
}

TEST(Source, DigitsOfMnist) {
  const auto digits = bytes_of(array_in("digits.npy"));
  SourceCache cache;
  for (const char* name : {"digits.idx3-ubyte", "digits.idx3-ubyte.gz"}) {
    EXPECT_EQ(*count_inputs(data_file(name), cache), 3);
    for (int64_t i = 0; i < 3; ++i) {
      Source source = file(name);
      source.index = i;
      auto tensor = load_input(source, port_of("x", DType::kUint8, {1, 1, 5, 4}), {}, {&cache, {}});
      ASSERT_TRUE(tensor) << why(tensor.error());
      EXPECT_EQ(bytes_of(*tensor),
                std::vector<uint8_t>(digits.begin() + i * 20, digits.begin() + (i + 1) * 20));
    }
    auto none =
        load_input(file(name + std::string("#3")), port_of("x", DType::kUint8, {1, 1, 5, 4}), {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().what, "there is no picture 3");
  }
}

TEST(Source, DamagedFilesOfDigits) {
  auto packed = MappedFile::open(data_file("digits.idx3-ubyte.gz"));
  auto plain = MappedFile::open(data_file("digits.idx3-ubyte"));
  for (size_t size = 0; size < plain->bytes().size(); ++size)
    EXPECT_FALSE(read_idx_images(plain->bytes().first(size))) << size;
  for (size_t size = 0; size + 8 < packed->bytes().size(); ++size)
    EXPECT_FALSE(read_idx_images(packed->bytes().first(size))) << size;
  std::vector<std::byte> huge(plain->bytes().begin(), plain->bytes().end());
  huge[4] = huge[8] = huge[12] = std::byte{0x7F};
  EXPECT_FALSE(read_idx_images(huge));
  std::vector<std::byte> wrong(packed->bytes().begin(), packed->bytes().end());
  wrong[wrong.size() - 8] ^= std::byte{1};
  EXPECT_EQ(read_idx_images(wrong).error().what, "the checksum of the pictures is wrong");
}

TEST(Source, Pictures) {
  SKIP_WITHOUT_CODEC();
  const auto port = port_of("x", DType::kUint8, {1, 14, 20, 3});
  for (const char* name : {"picture.png", "picture.bmp", "alpha.png"}) {
    auto tensor = load_input(file(name), port, {});
    ASSERT_TRUE(tensor) << why(tensor.error());
    EXPECT_EQ(tensor->bytes, expected("picture").bytes) << name;
  }
  auto jpeg = load_input(file("picture.jpg"), port_of("x", DType::kUint8, {1, 32, 48, 3}), {});
  ASSERT_TRUE(jpeg) << why(jpeg.error());
  EXPECT_EQ(jpeg->bytes, expected("jpeg").bytes);
  // Gray files have three equal channels.
  auto gray = load_input(file("gray.png"), port_of("x", DType::kUint8, {1, 1, 14, 20}), {});
  ASSERT_TRUE(gray) << why(gray.error());
  const auto picture = bytes_of(expected("picture"));
  const auto bytes = bytes_of(*gray);
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], picture[i * 3 + 1]) << i;
}

TEST(Source, WithoutOpenCvPicturesAreRefusedAndNothingElse) {
  ::setenv("PLUMB_PLUGIN_DIR", "/nonexistent", 1);
  auto picture = load_input(file("picture.png"), port_of("x", DType::kUint8, {1, 14, 20, 3}), {});
  auto digits =
      load_input(file("digits.idx3-ubyte"), port_of("x", DType::kUint8, {1, 1, 5, 4}), {});
  ::unsetenv("PLUMB_PLUGIN_DIR");
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().what,
            "this build cannot decode or resize pictures: libplumb_image.so not found");
  EXPECT_EQ(picture.error().remedy, "install it, or build with -DPLUMB_IMAGE=ON");
  EXPECT_TRUE(digits);
}

TEST(Source, BarePixels) {
  Preprocess how;
  how.color = ColorSpace::kRgb;
  how.yuv.standard = ColorStandard::kStudio;
  const auto port = port_of("x", DType::kUint8, {1, 6, 8, 3});
  for (const char* name : {"yuv.nv12", "yuv.nv21", "yuv.yuyv", "yuv.uyvy"}) {
    auto tensor = load_input(file(name), port, how);
    ASSERT_TRUE(tensor) << why(tensor.error());
    EXPECT_EQ(tensor->bytes, expected("rgb_studio").bytes) << name;
  }
  // What a model takes as it is needs no conversion, so no standard either.
  Preprocess same;
  same.color = ColorSpace::kNv12;
  auto tensor = load_input(file("yuv.nv12"), port_of("x", DType::kUint8, {1, 9, 8, 1}), same);
  ASSERT_TRUE(tensor) << why(tensor.error());
  auto raw = MappedFile::open(data_file("yuv.nv12"));
  EXPECT_TRUE(std::equal(tensor->bytes.begin(), tensor->bytes.end(), raw->bytes().begin(),
                         raw->bytes().end()));
  how.source_size = Size{8, 8};
  tensor = load_input(file("yuv.nv12"), port, how);
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().what, "the file is not a picture of this size");
}

TEST(Source, WhatIsCalledAPictureAndIsNone) {
  const Scratch scratch;
  const std::string path = scratch.path() / "photo.JPG";
  std::ofstream(path) << "<html>not found</html>";
  const auto port = port_of("x", DType::kFloat32, {1, 3, 4, 4});
  auto tensor = load_input(source_from_text(path), port, {});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().what, "the picture cannot be decoded");
  EXPECT_EQ(tensor.error().where, path + ", byte 0: it does not begin like one");
  // The content decides, if it is that of a tensor.
  std::filesystem::copy_file(data_file("values.npy"), path,
                             std::filesystem::copy_options::overwrite_existing);
  tensor = load_input(source_from_text(path), kFloatPort, {});
  ASSERT_TRUE(tensor) << why(tensor.error());
}

TEST(Source, DamagedPictures) {
  for (const char* name : {"picture.png", "picture.jpg", "picture.bmp"}) {
    auto whole = MappedFile::open(data_file(name));
    // The header is looked at before any library is.
    for (size_t size = 0; size < 40 && size < whole->bytes().size(); ++size) {
      auto found = image_file_size(whole->bytes().first(size));
      if (!found) {
        EXPECT_FALSE(found.error().where.empty());
      }
    }
    EXPECT_TRUE(image_file_size(whole->bytes()));
  }
  // A library fills the rest of a JPEG that is cut off with grey; we do not let it.
  auto jpeg = MappedFile::open(data_file("picture.jpg"));
  auto half = decode_image(jpeg->bytes().first(jpeg->bytes().size() - 2));
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().what, "the picture is cut off");

  auto png = MappedFile::open(data_file("picture.png"));
  std::vector<std::byte> huge(png->bytes().begin(), png->bytes().end());
  huge[16] = huge[20] = std::byte{0x40};
  auto found = decode_image(huge);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what, "the picture promises more than its file can hold");
  huge.resize(1 << 20);
  found = decode_image(huge);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what, "the picture promises more than its file can hold");
  huge[16] = huge[20] = std::byte{0};
  huge[17] = huge[21] = std::byte{1};  // 65556x65550
  found = decode_image(huge);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what, "the picture is empty or too large");
  SKIP_WITHOUT_CODEC();
  std::vector<std::byte> broken(png->bytes().begin(), png->bytes().end());
  broken.resize(60);
  EXPECT_FALSE(decode_image(broken));
}

}  // namespace
}  // namespace plumb::input
