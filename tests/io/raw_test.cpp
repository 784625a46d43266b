// SPDX-License-Identifier: Apache-2.0
#include "io/archive_testing.h"
#include "io/rearrange.h"

namespace plumb::io {
namespace {

ReadHints hints(DType dtype, std::optional<Shape> shape = {}) {
  ReadHints wanted;
  wanted.dtype = dtype;
  wanted.shape = std::move(shape);
  return wanted;
}

struct RawCase {
  const char* name;
  size_t file_bytes;
  ReadHints wanted;
  std::optional<Shape> shape;  // nullopt: refused
};

TEST(Raw, ReadsWhatItIsToldAndNothingElse) {
  const RawCase cases[] = {
      {"flat without a shape", 12, hints(DType::kFloat32), Shape{3}},
      {"shaped", 24, hints(DType::kFloat32, Shape{2, 3}), Shape{2, 3}},
      {"scalar", 8, hints(DType::kInt64, Shape{}), Shape{}},
      {"empty", 0, hints(DType::kFloat16, Shape{0, 4}), Shape{0, 4}},
      {"nibbles", 3, hints(DType::kInt4, Shape{5}), Shape{5}},
      {"bits", 2, hints(DType::kUint1, Shape{9}), Shape{9}},
      {"one byte short", 23, hints(DType::kFloat32, Shape{2, 3}), {}},
      {"one byte long", 25, hints(DType::kFloat32, Shape{2, 3}), {}},
      {"no whole element", 7, hints(DType::kFloat32), {}},
      {"overflow", 8, hints(DType::kFloat64, Shape{int64_t{1} << 62, 8}), {}},
      {"no type", 8, {}, {}},
  };
  for (const RawCase& c : cases) {
    SCOPED_TRACE(c.name);
    const std::vector<std::byte> file(c.file_bytes);
    auto listing = raw().list(file, c.wanted);
    ASSERT_EQ(listing.ok(), c.shape.has_value());
    if (c.shape) {
      EXPECT_EQ(listing->tensors[0].shape, *c.shape);
    } else {
      EXPECT_FALSE(listing.error().remedy.empty());
    }
  }
}

TEST(Raw, IsNeverGuessed) {
  const std::vector<std::byte> file(64, std::byte{7});
  EXPECT_FALSE(detect_format(file, {}).ok());
  EXPECT_EQ((*detect_format(file, hints(DType::kUint8)))->name, "raw");
}

// As `msaccucmp convert -t bin` names its files.
TEST(Raw, TheNameMayTellItAll) {
  struct {
    const char* name;
    size_t file_bytes;
    std::string said;  // empty: refused
  } const cases[] = {
      {"Conv2D.c.3.7.1700000000000001.output.0.1_2_3_4.float32.NCHW.bin", 96,
       "float32 [1, 2, 3, 4] NCHW"},
      {"x.output.0.1_1_2_2_16.float16.NC1HWC0.bin", 128, "float16 [1, 1, 2, 2, 16] NC1HWC0"},
      {"x.output.0.6.int8.ND.bin", 6, "int8 [6] ND"},
      {"x.output.0.6.float32.NCHW.bin", 24, "float32 [6] ND"},
      {"x.output.0.3.bfloat16.ND.bin", 12, "float32 [3] ND"},  // numpy has no such type
      {"x.output.0.3.bfloat16.ND.bin", 6, "bfloat16 [3] ND"},
      {"x.output.0.0_4.float32.NCHW.bin", 0, "float32 [0, 4] NCHW"},
      {"x.output.0.64.float16.NC1HWC0.bin", 128, ""},  // in blocks, and nobody says of what shape
      {"x.output.0.6.float32.ND.bin", 20, ""},
      {"x.output.0.6.float33.ND.bin", 24, ""},
      {"x.output.0.6.float32.XY.bin", 24, ""},
      {"x.output.0.6_.float32.ND.bin", 24, ""},
      {"x.output.0._6.float32.ND.bin", 24, ""},
      {"6.float32.ND.bin", 24, ""},
      {"x.bin", 24, ""},
      {".bin", 24, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::vector<std::byte> file(c.file_bytes);
    ReadHints by_name;
    by_name.file_name = c.name;
    const auto listing = raw().list(file, by_name);
    ASSERT_EQ(listing.ok(), !c.said.empty());
    if (!listing.ok()) continue;
    const TensorInfo& info = listing->tensors[0];
    EXPECT_EQ(
        fmt::format("{} {} {}", name_of(info.dtype), to_string(info.shape), name_of(info.layout)),
        c.said);
    if (c.file_bytes == 0) continue;
    EXPECT_EQ((*detect_format(file, by_name))->name, "raw");
  }
}

TEST(Raw, WritesWhatItReads) {
  for (const DTypeInfo& info : dtypes()) {
    if (!raw().writable(info.dtype) || info.dtype == DType::kOpaque) continue;
    SCOPED_TRACE(info.name);
    std::vector<std::byte> elements(static_cast<size_t>(6 * info.bits / 8));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(37 * i + 1);
    auto file = written(raw(), {item("", info.dtype, {2, 3}, elements)});
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(*file, elements);
    auto listing = raw().list(*file, hints(info.dtype, Shape{2, 3}));
    ASSERT_TRUE(listing.ok());
    auto again = elements_of(raw(), *file, listing->tensors[0]);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, elements);
  }
}

// There through `rearranged`, back through the reader: padding comes and goes.
TEST(Rearranged, ComesBackThroughTheReader) {
  const Shape shape{2, 21, 3, 5};
  std::vector<std::byte> elements(2 * 21 * 3 * 5 * 2);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(i * 31 + 7);
  for (const char* name : {"NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ", "C1HWNC0", "NHWC1C0"}) {
    SCOPED_TRACE(name);
    auto source = TensorReader::from_memory(DType::kFloat16, shape, elements);
    TensorInfo plain;
    plain.dtype = DType::kFloat16;
    plain.shape = shape;
    auto device = rearranged(source, plain, *layout_from_name(name));
    ASSERT_TRUE(device.ok());
    auto bytes = device->read(0, device->count());
    ASSERT_TRUE(bytes.ok());
    TensorInfo stored = plain;
    stored.layout = *layout_from_name(name);
    stored.shape = device->shape();
    stored.logical_shape = shape;
    stored.size_bytes = bytes->size();
    auto back = elements_of(raw(), *bytes, stored);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, elements);
  }
}

}  // namespace
}  // namespace plumb::io
