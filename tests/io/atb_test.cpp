// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <gmock/gmock.h>

#include "io/ascend_vectors.h"

namespace plumb::io {
namespace {

using testing::ElementsAre;
using testing::Pair;

const Format& atb() { return *format_by_name("atb"); }

// Lines as the library writes them; what follows the last one is data.
const std::string kSample =
    "$Version=1.0\n$Object.Count=1\n$Object.Length=12\nformat=2\ndtype=1\ndims=2,3\n"
    "$Object.data=0,12\n$End=1\n"
    "0123456789ab";

TEST(Atb, ReadsASample) {
  ASSERT_EQ(*detect_format(as_bytes(kSample), {}), &atb());
  const Listing listing = listed(atb(), kSample);
  EXPECT_THAT(listing.properties, ElementsAre(Pair("version", "1.0")));
  ASSERT_EQ(listing.tensors.size(), 1u);
  const TensorInfo& info = listing.tensors[0];
  EXPECT_EQ(info.name, "");
  EXPECT_EQ(info.dtype, DType::kFloat16);
  EXPECT_EQ(info.shape, (Shape{2, 3}));
  EXPECT_EQ(info.layout, kPlainLayout);
  auto reader = TensorReader::open(atb(), as_bytes(kSample), info);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(as_text(*reader->read(0, 6)), "0123456789ab");
}

TEST(Atb, ReadsWhatNumpySays) {
  for (const char* name : {"float16", "int64", "bool", "bfloat16"}) {
    SCOPED_TRACE(name);
    const auto path = std::filesystem::path(PLUMB_TEST_DATA) / "atb" / name;
    auto file = open_tensor_file(path.string() + ".bin");
    ASSERT_TRUE(file.ok()) << file.error().what;
    EXPECT_EQ(file->format, &atb());
    EXPECT_EQ(dtype_text(file->listing.tensors.at(0)), name);
    expect_equal(read_tensor(*file, "", {}), load_npy(path.string() + ".npy"));
  }
}

TEST(Atb, ReadsTheTypesItIsSaidToHave) {
  const std::pair<int, DType> all[] = {
      {0, DType::kFloat32}, {1, DType::kFloat16}, {2, DType::kInt8},     {3, DType::kInt32},
      {9, DType::kInt64},   {12, DType::kBool},   {27, DType::kBFloat16}};
  for (auto [number, dtype] : all) {
    const std::string header = "dtype=" + std::to_string(number) + "\ndims=2\n$End=1\n";
    const std::string file = header + std::string(static_cast<size_t>(bits_of(dtype)) / 4, 'x');
    EXPECT_EQ(listed(atb(), file).tensors[0].dtype, dtype);
    EXPECT_EQ(*detect_format(as_bytes(file), {}), &atb());
  }
  const std::string odd = "dtype=5\ndims=2\n$End=1\nxyz";
  EXPECT_EQ(listed(atb(), odd).tensors[0].dtype, DType::kOpaque);
}

TEST(Atb, SaysWhatIsWrong) {
  struct Case {
    const char* file;
    const char* what;
    const char* where;
  };
  const Case all[] = {
      {"", "ATB file header is damaged", "byte 0: no line '$End=' in the first 0 bytes"},
      {"$Version=1.0\ndtype=1", "ATB file header is damaged",
       "byte 13: no line '$End=' in the first 20 bytes"},
      {"$Version=1.0\nhello\n", "ATB file header is damaged", "byte 13: a line is not name=value"},
      {"a=b=c\n", "ATB file header is damaged", "byte 0: a line is not name=value"},
      {"dtype=one\n", "ATB file header is damaged", "byte 0: dtype is 'one'"},
      {"format=\n", "ATB file header is damaged", "byte 0: format is ''"},
      {"dims=2,,3\n", "ATB file header is damaged", "byte 0: dims is '2,,3'"},
      {"dims=2,-3\n", "ATB file header is damaged", "byte 0: dims is '2,-3'"},
      {"dims=99999999999999999999\n", "ATB file header is damaged",
       "byte 0: dims is '99999999999999999999'"},
      {"dtype=0\n$End=1\n", "ATB file header is damaged", "byte 15: no line 'dims=' before here"},
      {"dims=1\n$End=1\n", "ATB file header is damaged", "byte 14: no line 'dtype=' before here"},
      {"dtype=0\ndata=/tmp/x\n", "ATB file keeps its data elsewhere", "byte 8: data=/tmp/x"},
      {"dtype=0\ndims=2\n$End=1\n1234567", "ATB file does not hold what its dims say",
       "byte 22: float32 [2] needs 8 bytes, 7 are there"},
      {"dtype=0\ndims=2\n$End=1\n123456789", "ATB file does not hold what its dims say",
       "byte 22: float32 [2] needs 8 bytes, 9 are there"},
      {"dtype=0\ndims=9223372036854775807,2\n$End=1\n", "ATB file does not hold what its dims say",
       "byte 42: float32 [9223372036854775807, 2] needs more than 2^63 bytes, 0 are there"},
  };
  for (const Case& c : all) {
    const auto listing = atb().list(as_bytes(c.file), {});
    ASSERT_FALSE(listing.ok()) << c.file;
    EXPECT_EQ(listing.error().what, c.what) << c.file;
    EXPECT_EQ(listing.error().where, c.where) << c.file;
    EXPECT_FALSE(listing.error().remedy.empty());
  }
}

TEST(Atb, LeavesOtherFilesAlone) {
  for (const char* other : {"", "a=b\n", "$End=1\n", "[section]\nkey=value\n", "dtype=0\ndims=2\n"})
    EXPECT_FALSE(atb().probe(as_bytes(other), std::string_view(other).size())) << other;
}

TEST(Atb, DoesNotReadTextForever) {
  std::string endless;
  while (endless.size() < 1 << 17) endless += "name=value\n";
  const auto listing = atb().list(as_bytes(endless), {});
  ASSERT_FALSE(listing.ok());
  EXPECT_EQ(listing.error().where, "byte 65527: no line '$End=' in the first 65536 bytes");
}

TEST(Atb, WhatIsWrittenReadsBack) {
  std::string pattern = (std::filesystem::temp_directory_path() / "plumb-test-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  std::mt19937 random(5);
  for (const DTypeInfo& type : dtypes()) {
    if (!atb().writable(type.dtype)) {
      EXPECT_TRUE(type.dtype == DType::kOpaque || type.unpacked != type.dtype) << type.name;
      continue;
    }
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{2, 0}, Shape{3, 2, 5}}) {
      std::vector<std::byte> elements(
          static_cast<size_t>(*byte_count(type.dtype, *element_count(shape))));
      for (std::byte& b : elements) b = static_cast<std::byte>(random());
      const WriteItem item{"", type.dtype, shape, [&] {
                             return Result(TensorReader::from_memory(type.dtype, shape, elements));
                           }};
      auto sink = FileSink::create(directory / "outtensor0.bin");
      ASSERT_TRUE(sink.ok());
      ASSERT_TRUE(atb().write(*sink, std::span(&item, 1)).ok());
      ASSERT_TRUE(sink->commit(false).ok());
      auto file = open_tensor_file(directory / "outtensor0.bin");
      ASSERT_TRUE(file.ok()) << file.error().what;
      EXPECT_EQ(file->format, &atb());
      const TensorInfo& info = file->listing.tensors.at(0);
      EXPECT_EQ(info.dtype, type.dtype);
      EXPECT_EQ(info.shape, shape);
      auto reader = file->open(info);
      ASSERT_TRUE(reader.ok());
      const Bytes read = *reader->read(0, reader->count());
      EXPECT_TRUE(std::ranges::equal(read, elements)) << type.name;
    }
  }
  std::filesystem::remove_all(directory);
}

TEST(Atb, SurvivesCutsAndDamageAtEveryByte) {
  std::string file = kSample;
  for (size_t at = 0; at < file.size(); ++at)
    for (int damage : {0x01, 0x80, 0xFF}) {
      file[at] = static_cast<char>(file[at] ^ damage);
      if (auto listing = atb().list(as_bytes(file), {})) {
        auto reader = TensorReader::open(atb(), as_bytes(file), listing->tensors.at(0));
        EXPECT_TRUE(!reader || reader->read(0, reader->count()).ok());
      }
      file[at] = static_cast<char>(file[at] ^ damage);
    }
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(atb().list(as_bytes(file).first(size), {}).ok()) << size;
}

}  // namespace
}  // namespace plumb::io
