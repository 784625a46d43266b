// SPDX-License-Identifier: Apache-2.0
#include "io/archive_testing.h"

namespace plumb::io {
namespace {

const Format& safetensors() { return *format_by_name("safetensors"); }

// make_safetensors.py wrote the files from the description of the format.
TEST(Safetensors, ReadsGoodFilesAndNamesWhatIsDamaged) {
  check_manifest("safetensors", "safetensors");
}

TEST(Safetensors, KnowsWhichTypesItHas) {
  for (const DTypeInfo& info : dtypes()) {
    const bool missing = info.dtype == DType::kHiFloat8 || info.dtype == DType::kInt4 ||
                         info.dtype == DType::kUint1 || info.dtype == DType::kComplex128 ||
                         info.dtype == DType::kOpaque;
    EXPECT_EQ(safetensors().writable(info.dtype), !missing) << info.name;
  }
}

// The bytes are those that the Python package writes for the same tensors: largest elements first,
// the header padded with spaces to a multiple of eight.
TEST(Safetensors, WritesTheFormatToTheByte) {
  auto file = written(safetensors(), {item("b\"1\n", DType::kUint8, {3}, bytes_of("abc")),
                                      item("a", DType::kBFloat16, {1, 2}, bytes_of("wxyz"))});
  ASSERT_TRUE(file.ok());
  const std::string header = R"({"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},)"
                             R"("b\"1\n":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  const std::string length{static_cast<char>(padded.size()), 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(as_text(*file), length + padded + "wxyzabc");
}

TEST(Safetensors, WritesWhatItReads) {
  std::vector<WriteItem> items;
  for (const DTypeInfo& info : dtypes()) {
    if (!safetensors().writable(info.dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{5}, Shape{2, 1, 3}}) {
      std::vector<std::byte> bytes(
          static_cast<size_t>(*byte_count(info.dtype, *element_count(shape))));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 29 + 1);
      items.push_back(
          item(fmt::format("{} {}", info.name, to_string(shape)), info.dtype, shape, bytes));
    }
  }
  auto file = written(safetensors(), items);
  ASSERT_TRUE(file.ok());
  auto listing = safetensors().list(*file, {});
  ASSERT_TRUE(listing.ok()) << listing.error().what << listing.error().where;
  ASSERT_EQ(listing->tensors.size(), items.size());
  for (const TensorInfo& info : listing->tensors) {
    auto found = std::find_if(items.begin(), items.end(),
                              [&](const WriteItem& each) { return each.name == info.name; });
    ASSERT_NE(found, items.end());
    EXPECT_EQ(info.dtype, found->dtype);
    EXPECT_EQ(info.shape, found->shape);
    EXPECT_EQ(info.offset_bytes * 8 % static_cast<uint64_t>(std::min(64, bits_of(info.dtype))), 0u);
    auto elements = elements_of(safetensors(), *file, info);
    ASSERT_TRUE(elements.ok());
    auto source = found->open();
    EXPECT_EQ(hex(*elements), hex(*source->read(0, source->count())));
  }
}

TEST(Safetensors, WritesNothing) {
  auto file = written(safetensors(), {});
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(as_text(*file), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

struct RefusedItems {
  const char* name;
  std::vector<WriteItem> items;
  const char* what;
};

TEST(Safetensors, RefusesToWriteWhatItCannotHold) {
  const RefusedItems cases[] = {
      {"type", {item("a", DType::kComplex128, {0}, {})}, "safetensors has no such type"},
      {"name",
       {item("__metadata__", DType::kInt8, {0}, {})},
       "safetensors cannot hold this tensor"},
      {"twice",
       {item("a", DType::kInt8, {0}, {}), item("a", DType::kInt8, {0}, {})},
       "two tensors of the same name"},
  };
  for (const RefusedItems& each : cases) {
    SCOPED_TRACE(each.name);
    auto file = written(safetensors(), each.items);
    ASSERT_FALSE(file.ok());
    expect_error(file.error(), each.what);
  }
}

}  // namespace
}  // namespace plumb::io
