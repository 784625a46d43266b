// SPDX-License-Identifier: Apache-2.0
#include "io/archive_testing.h"

namespace plumb::io {
namespace {

const Format& npz() { return *format_by_name("npz"); }

// numpy and zipfile wrote the files; what is damaged in them is told by make_npz.py.
TEST(Npz, ReadsWhatNumpyWroteAndNamesWhatIsDamaged) { check_manifest("npz", "npz"); }

// Stored members are read in place; deflated ones say where their elements start.
TEST(Npz, KeepsStoredMembersInPlace) {
  const auto stored = file_bytes(test_data("npz/stored.npz"));
  const auto deflated = file_bytes(test_data("npz/deflated.npz"));
  auto listing = npz().list(stored, {});
  ASSERT_TRUE(listing.ok());
  for (const TensorInfo& info : listing->tensors) {
    EXPECT_EQ(info.packing, Packing::kPlain);
    EXPECT_TRUE(info.crc32.has_value());
  }
  listing = npz().list(deflated, {});
  ASSERT_TRUE(listing.ok());
  for (const TensorInfo& info : listing->tensors) {
    EXPECT_EQ(info.packing, Packing::kDeflated);
    EXPECT_EQ(info.skip_bytes % 64, 0u);
  }
}

// Some debuggers leave out ".npy", and their names have slashes, as those in a PyTorch file have:
// what a member is, its bytes tell.
TEST(Npz, IsNoPyTorchFileForItsNames) {
  for (const char* name : {"npz/slashes.npz", "npz/slashes_deflated.npz", "npz/slashes_text.npz"}) {
    SCOPED_TRACE(name);
    const auto file = open_tensor_file(test_data(name));
    ASSERT_TRUE(file.ok()) << file.error().what;
    EXPECT_EQ(file->format->name, "npz");
    ASSERT_FALSE(file->listing.tensors.empty());
    EXPECT_EQ(file->listing.tensors[0].name, "layer1/conv/out");
  }
}

TEST(Npz, MentionsBytesAfterTheData) {
  for (const char* name : {"npz/trailing.npz", "npz/trailing_stored.npz"}) {
    const auto file = file_bytes(test_data(name));
    auto listing = npz().list(file, {});
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(listing->tensors[0].notes,
              std::vector<std::string>{"4 bytes after the data ignored"});
  }
}

// With bytes in front it no longer looks like an archive, but the name says what it was.
TEST(Npz, IsKnownByNameWhenDamaged) {
  const auto file = file_bytes(test_data("npz/prefix.npz"));
  EXPECT_FALSE(detect_format(file, {}).ok());
  ReadHints hints;
  hints.file_name = "prefix.npz";
  auto format = detect_format(file, hints);
  ASSERT_TRUE(format.ok());
  EXPECT_EQ(*format, &npz());
}

TEST(Npz, WritesWhatItReads) {
  const std::vector<WriteItem> items = {
      item("a", DType::kFloat32, {2, 3}, std::vector<std::byte>(24, std::byte{0x3f})),
      item("deep/name", DType::kInt16, {5}, bytes_of("0123456789")),
      item("größe", DType::kBool, {}, bytes_of("\1")),
      item("empty", DType::kComplex128, {3, 0}, {}),
      item("", DType::kUint8, {3}, bytes_of("abc")),
  };
  auto file = written(npz(), items);
  ASSERT_TRUE(file.ok());
  auto listing = npz().list(*file, {});
  ASSERT_TRUE(listing.ok()) << listing.error().what << listing.error().where;
  ASSERT_EQ(listing->tensors.size(), items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const TensorInfo& info = listing->tensors[i];
    EXPECT_EQ(info.name, items[i].name.empty() ? "arr_0" : items[i].name);
    EXPECT_EQ(info.dtype, items[i].dtype);
    EXPECT_EQ(info.shape, items[i].shape);
    EXPECT_EQ(info.offset_bytes % 64, 0u);
    auto elements = elements_of(npz(), *file, info);
    ASSERT_TRUE(elements.ok()) << elements.error().what;
    auto source = items[i].open();
    auto expected = source->read(0, source->count());
    EXPECT_EQ(hex(*elements), hex(*expected));
  }
}

TEST(Npz, RefusesTwoTensorsOfOneName) {
  auto file = written(npz(), {item("a", DType::kUint8, {1}, bytes_of("a")),
                              item("a", DType::kUint8, {1}, bytes_of("b"))});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().what, "two tensors of the same name");
}

TEST(Npz, ReportsTheErrorOfASource) {
  WriteItem broken{"a", DType::kUint8, {1}, [] {
                     return Result<TensorReader>(Error{"no such tensor", "here", "look elsewhere"});
                   }};
  auto file = written(npz(), {broken});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().what, "no such tensor");
}

TEST(Npz, WritesAnEmptyArchive) {
  auto file = written(npz(), {});
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(hex(*file), "504b0506" + std::string(36, '0'));
  auto listing = npz().list(*file, {});
  ASSERT_TRUE(listing.ok());
  EXPECT_TRUE(listing->tensors.empty());
}

}  // namespace
}  // namespace plumb::io
