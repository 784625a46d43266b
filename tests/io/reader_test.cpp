// SPDX-License-Identifier: Apache-2.0
#include "io/reader.h"

#include <array>
#include <cstring>

#include <libdeflate.h>
#include <zlib.h>

#include "io/archive_testing.h"

namespace plumb::io {
namespace {

std::vector<std::byte> counted(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

uint32_t crc_of(Bytes bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

std::vector<std::byte> deflated(Bytes bytes) {
  z_stream z = {};
  deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::byte> out(deflateBound(&z, bytes.size()));
  z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

TensorInfo plain_info(DType dtype, Shape shape) {
  TensorInfo info;
  info.dtype = dtype;
  info.shape = std::move(shape);
  info.size_bytes = static_cast<uint64_t>(*byte_count(dtype, *element_count(info.shape)));
  return info;
}

// A member of `head` bytes, a tensor, and `tail` bytes, deflated.
struct Deflated {
  std::vector<std::byte> member, file;
  TensorInfo info;
  Deflated(DType dtype, Shape shape, size_t head, size_t tail)
      : info(plain_info(dtype, std::move(shape))) {
    member = counted(head + info.size_bytes + tail);
    file = deflated(member);
    info.packing = Packing::kDeflated;
    info.size_bytes = file.size();
    info.skip_bytes = head;
    info.crc_size_bytes = member.size();
    info.crc32 = crc_of(member);
  }
};

TEST(TensorReader, ReadsDeflatedTensorsInPieces) {
  for (size_t tail : {size_t{0}, size_t{3}, size_t{100000}}) {
    const Deflated each(DType::kUint16, {300, 400}, 129, tail);
    auto elements = elements_of(raw(), each.file, each.info);
    ASSERT_TRUE(elements.ok()) << elements.error().what << elements.error().where;
    EXPECT_EQ(hex(*elements), hex(Bytes(each.member).subspan(129, 240000)));
  }
}

TEST(TensorReader, ReadsDeflatedTensorsInAnyOrder) {
  const Deflated each(DType::kUint8, {1000}, 10, 5);
  auto reader = TensorReader::open(raw(), each.file, each.info);
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(reader->is_random_access());
  for (auto [first, count] :
       {std::pair{900, 100}, {0, 10}, {500, 20}, {0, 1000}, {999, 1}, {0, 1000}}) {
    auto piece = reader->read(first, count);
    ASSERT_TRUE(piece.ok()) << first << piece.error().where;
    EXPECT_EQ(hex(*piece), hex(Bytes(each.member).subspan(10 + size_t(first), size_t(count))));
  }
}

// Strides, however the elements are packed.
TEST(TensorReader, TransposesDeflatedTensors) {
  Deflated each(DType::kUint8, {2, 3}, 10, 5);
  each.info.strides = {1, 2};
  auto elements = elements_of(raw(), each.file, each.info);
  ASSERT_TRUE(elements.ok()) << elements.error().what << elements.error().where;
  std::vector<std::byte> expected;
  for (size_t at : {0, 2, 4, 1, 3, 5}) expected.push_back(each.member[10 + at]);
  EXPECT_EQ(hex(*elements), hex(expected));
}

struct Damage {
  const char* name;
  std::function<void(Deflated&)> apply;
  const char* what;
};

TEST(TensorReader, NoticesDamageInDeflatedTensors) {
  const Damage cases[] = {
      {"wrong checksum", [](Deflated& d) { d.info.crc32 = 1; }, "checksum does not match"},
      {"cut off", [](Deflated& d) { d.info.size_bytes /= 2; }, "compressed data ends too early"},
      {"not deflate", [](Deflated& d) { std::fill(d.file.begin(), d.file.end(), std::byte{0xff}); },
       "compressed data is damaged"},
      {"more promised", [](Deflated& d) { d.info.crc_size_bytes += 1; },
       "compressed data ends too early"},
      {"member too short", [](Deflated& d) { d.info.crc_size_bytes -= 6; },
       "tensor data is shorter than its shape needs"},
      {"skipped too much", [](Deflated& d) { d.info.skip_bytes = UINT64_MAX - 3; },
       "tensor data is shorter than its shape needs"},
      {"outside", [](Deflated& d) { d.info.offset_bytes = 1; }, "tensor lies outside its file"},
      {"far outside", [](Deflated& d) { d.info.offset_bytes = UINT64_MAX; },
       "tensor lies outside its file"},
  };
  for (const Damage& each : cases) {
    for (bool strided : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, strided {}", each.name, strided));
      Deflated tensor(DType::kUint8, {20, 30}, 10, 5);
      if (strided) tensor.info.strides = {1, 20};
      each.apply(tensor);
      auto elements = elements_of(raw(), tensor.file, tensor.info);
      ASSERT_FALSE(elements.ok());
      // A view's extent is told by the bytes, so it is the view that does not fit.
      const bool by_view =
          strided && elements.error().what == "strided tensor lies outside its storage";
      if (!by_view) expect_error(elements.error(), each.what);
    }
  }
}

// The checksum covers bytes before and after the elements, too.
TEST(TensorReader, ChecksStoredTensors) {
  auto file = counted(100);
  for (const Shape& strides : {Shape{}, Shape{1, 4}, Shape{6, 1}}) {
    TensorInfo info = plain_info(DType::kUint8, {4, 6});
    info.strides = strides;
    info.offset_bytes = 20;
    info.crc_offset_bytes = 10;
    info.crc_size_bytes = 50;
    info.crc32 = crc_of(Bytes(file).subspan(10, 50));
    EXPECT_TRUE(elements_of(raw(), file, info).ok());
    for (size_t at : {size_t{10}, size_t{20}, size_t{43}, size_t{44}, size_t{59}}) {
      file[at] ^= std::byte{1};
      auto elements = elements_of(raw(), file, info);
      ASSERT_FALSE(elements.ok()) << at;
      expect_error(elements.error(), "checksum does not match");
      file[at] ^= std::byte{1};
    }
    for (size_t at : {size_t{9}, size_t{60}}) {
      file[at] ^= std::byte{1};
      EXPECT_TRUE(elements_of(raw(), file, info).ok()) << at;
      file[at] ^= std::byte{1};
    }
  }
}

// However far the one who works on a piece says to have come, and however often.
TEST(TensorReader, ChecksWhatIsWorkedOnMeanwhile) {
  constexpr int64_t kCount = 100'000, kPiece = 40'000;
  auto file = counted(8 * kCount + 20);
  const auto read_all = [&](bool is_big_endian, const std::vector<int64_t>& told) -> Result<void> {
    TensorInfo info = plain_info(DType::kInt64, {kCount});
    info.big_endian = is_big_endian;
    info.offset_bytes = 10;
    info.crc_size_bytes = file.size();
    info.crc32 = 0x3e51f435;  // by Python's zlib
    auto reader = TensorReader::open(raw(), file, info);
    if (!reader) return reader.error();
    for (int64_t first = 0; first < kCount; first += kPiece) {
      const int64_t count = std::min(kPiece, kCount - first);
      const auto piece = reader->read(first, count, TensorReader::Check::kLater);
      if (!piece) return piece.error();
      for (const int64_t until : told) reader->check_until(until);
      if (auto rest = reader->check_rest(); !rest) return rest;
      if (auto again = reader->check_rest(); !again) return again;
    }
    return {};
  };
  const std::vector<std::vector<int64_t>> kTold = {
      {}, {1, 2, 30'000, 3}, {40'000}, {50'000, 0}, {20'000, 20'000, 39'999}};
  for (const auto& told : kTold) {
    EXPECT_TRUE(read_all(false, told).ok());
    EXPECT_TRUE(read_all(true, told).ok());
    for (const size_t at : {size_t{0}, size_t{10}, size_t{240'000}, file.size() - 1}) {
      file[at] ^= std::byte{1};
      const auto damaged = read_all(false, told);
      ASSERT_FALSE(damaged.ok()) << at;
      expect_error(damaged.error(), "checksum does not match");
      file[at] ^= std::byte{1};
    }
  }
}

TEST(TensorReader, ChecksEmptyTensorsAtOnce) {
  const auto file = counted(10);
  TensorInfo info = plain_info(DType::kFloat32, {0, 3});
  info.crc_size_bytes = 10;
  info.crc32 = crc_of(file);
  EXPECT_TRUE(TensorReader::open(raw(), file, info).ok());
  info.crc32 = 1;
  EXPECT_FALSE(TensorReader::open(raw(), file, info).ok());
  Deflated packed(DType::kFloat32, {0, 3}, 10, 5);
  EXPECT_TRUE(TensorReader::open(raw(), packed.file, packed.info).ok());
  packed.info.crc32 = 1;
  EXPECT_FALSE(TensorReader::open(raw(), packed.file, packed.info).ok());
}

TEST(TensorReader, SwapsBytesWhereverTheyComeFrom) {
  const std::string expected = "04030201080706050c0b0a09";
  std::vector<std::byte> file;
  for (int i = 1; i <= 12; ++i) file.push_back(static_cast<std::byte>(i));
  TensorInfo info = plain_info(DType::kInt32, {3});
  info.big_endian = true;
  EXPECT_EQ(hex(*elements_of(raw(), file, info)), expected);
  info.strides = {1};
  EXPECT_EQ(hex(*elements_of(raw(), file, info)), expected);
  info.shape = {2};
  info.strides = {2};
  EXPECT_EQ(hex(*elements_of(raw(), file, info)), "040302010c0b0a09");

  Deflated packed(DType::kInt32, {3}, 0, 0);
  packed.file = deflated(file);
  packed.info.size_bytes = packed.file.size();
  packed.info.crc32 = crc_of(file);
  packed.info.big_endian = true;
  EXPECT_EQ(hex(*elements_of(raw(), packed.file, packed.info)), expected);
  EXPECT_EQ(file[0], std::byte{1}) << "the file itself stays as it is";
}

// int4 with strides: nibbles are unpacked before they are moved.
TEST(TensorReader, ViewsPackedElements) {
  const auto file = bytes_of("\x21\x43\x65");
  TensorInfo info = plain_info(DType::kInt4, {2, 3});
  info.crc_size_bytes = 3;
  info.crc32 = crc_of(file);
  EXPECT_EQ(hex(*elements_of(raw(), file, info)), "010203040506");
  info.strides = {1, 2};
  EXPECT_EQ(hex(*elements_of(raw(), file, info)), "010305020406");
  info.crc32 = 1;
  EXPECT_FALSE(elements_of(raw(), file, info).ok());
}

TEST(TensorReader, GivesAViewAnotherShape) {
  const auto file = counted(6);
  TensorInfo info = plain_info(DType::kUint8, {2, 3});
  info.strides = {1, 2};
  ReadOrder order;
  order.logical = Shape{6};
  auto reader = TensorReader::open(raw(), file, info, order);
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_EQ(reader->shape(), Shape{6});
  EXPECT_EQ(hex(*elements_of(raw(), file, info, order)), hex(*elements_of(raw(), file, info)));
  order.logical = Shape{7};
  EXPECT_FALSE(TensorReader::open(raw(), file, info, order).ok());
  order = {};
  order.axes = "NHWC";
  EXPECT_FALSE(TensorReader::open(raw(), file, info, order).ok()) << "a wish is not ignored";
}

struct Impossible {
  const char* name;
  std::function<void(TensorInfo&)> apply;
  const char* what;
};

TEST(TensorReader, RefusesWhatCannotBe) {
  const Impossible cases[] = {
      {"listed as broken",
       [](TensorInfo& i) {
         i.error = Error{"broken", "here", "mend it"};
       },
       "broken"},
      {"negative size", [](TensorInfo& i) { i.shape = {-1}; }, "tensor is impossibly large"},
      {"huge",
       [](TensorInfo& i) {
         i.shape = {INT64_MAX, 2};
       },
       "tensor is impossibly large"},
      {"too many axes", [](TensorInfo& i) { i.shape = Shape(65, 1); }, "tensor has too many axes"},
      {"short", [](TensorInfo& i) { i.size_bytes = 23; },
       "tensor data is shorter than its shape needs"},
      {"outside", [](TensorInfo& i) { i.offset_bytes = 1; }, "tensor lies outside its file"},
      {"wrapping",
       [](TensorInfo& i) {
         i.size_bytes = UINT64_MAX;
         i.offset_bytes = 8;
       },
       "tensor lies outside its file"},
      {"view outside", [](TensorInfo& i) { i.strides = {4}; },
       "strided tensor lies outside its storage"},
      {"view before", [](TensorInfo& i) { i.strides = {-1}; },
       "strided tensor lies outside its storage"},
      {"view of absurd storage",
       [](TensorInfo& i) {
         i.strides = {1 << 20};
         i.size_bytes = UINT64_MAX;
       },
       "tensor lies outside its file"},
      {"checksum elsewhere",
       [](TensorInfo& i) {
         i.crc32 = 1;
         i.crc_size_bytes = 8;
       },
       "checksummed range does not hold the tensor"},
      {"checksum wraps",
       [](TensorInfo& i) {
         i.crc32 = 1;
         i.crc_size_bytes = UINT64_MAX;
         i.crc_offset_bytes = 1;
       },
       "checksummed range does not hold the tensor"},
  };
  for (const Impossible& each : cases) {
    SCOPED_TRACE(each.name);
    const auto file = counted(24);
    TensorInfo info = plain_info(DType::kFloat32, {6});
    each.apply(info);
    auto reader = TensorReader::open(raw(), file, info);
    ASSERT_FALSE(reader.ok());
    expect_error(reader.error(), each.what);
  }
}

// integer = round(number * 50 - 1), so -1 is 0 and 49 is 1.
// Rows and columns swapped, the last column cut off, in float32; read twice, and the start of it.
TEST(TensorReader, AnOrderOfItsOwn) {
  const std::array<int32_t, 6> values{0, 1, 2, 3, (1 << 24) + 1, 5};
  const Bytes file = std::as_bytes(std::span(values));
  ReadOrder order;
  order.map.emplace();
  order.map->axes = {{2, 1, 1, 0}, {2, 1, 3, 0}};
  order.as_float32 = true;
  const auto read = [](TensorReader& reader, int64_t first, int64_t count) {
    const auto bytes = reader.read(first, count);
    std::vector<float> floats(static_cast<size_t>(count));
    std::memcpy(floats.data(), bytes->data(), bytes->size());
    return floats;
  };
  const TensorInfo info = plain_info(DType::kInt32, {2, 3});
  auto reader = TensorReader::open(raw(), file, info, order);
  ASSERT_TRUE(reader) << reader.error().what;
  EXPECT_EQ(reader->dtype(), DType::kFloat32);
  EXPECT_EQ(reader->shape(), (Shape{2, 2}));
  EXPECT_EQ(read(*reader, 0, 3), (std::vector<float>{0, 3, 1}));
  EXPECT_EQ(read(*reader, 3, 1), std::vector<float>{1 << 24});
  EXPECT_EQ(read(*reader, 1, 3), (std::vector<float>{3, 1, 1 << 24}));
  order.at_most = 3;
  reader = TensorReader::open(raw(), file, info, order);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->count(), 3);
  EXPECT_EQ(read(*reader, 1, 2), (std::vector<float>{3, 1})) << "what was not read before";

  TensorInfo strided = info;
  strided.strides = {1, 2};
  EXPECT_FALSE(TensorReader::open(raw(), file, strided, order));
}

TEST(TensorReader, IntegersAsTheNumbersTheyStandFor) {
  const std::array<int8_t, 4> stored{-1, 49, -128, 127};
  const auto bytes = std::as_bytes(std::span(stored));
  ReadOrder order;
  order.dequantize = Dequantize{50, -1};
  auto reader = TensorReader::open(raw(), bytes, plain_info(DType::kInt8, {4}), order);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->dtype(), DType::kFloat32);
  auto piece = reader->read(0, 4);
  ASSERT_TRUE(piece);
  std::array<float, 4> numbers;
  std::memcpy(numbers.data(), piece->data(), sizeof numbers);
  EXPECT_EQ(numbers, (std::array{0.0F, 1.0F, -2.54F, 2.56F}));
  // Floats are numbers already.
  auto plain = TensorReader::open(raw(), bytes, plain_info(DType::kFloat32, {1}), order);
  EXPECT_EQ(plain->dtype(), DType::kFloat32);
}

}  // namespace
}  // namespace plumb::io
