// SPDX-License-Identifier: Apache-2.0
//
// The files and the arrays expected of them are made by tests/data/hdf5/make_hdf5.py with h5py.
#include <cstdlib>
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/archive_testing.h"
#include "io/file.h"
#include "io/hdf5_records.h"

namespace plumb::io {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

const std::filesystem::path kHdf5Data = PLUMB_TEST_DATA "/hdf5";
const std::filesystem::path kLibraries =
    std::filesystem::path(PLUMB_BINARY).parent_path() / "../lib";

// For the time of a test; the environment is read whenever the plug-in is needed.
class PluginDirectory {
 public:
  explicit PluginDirectory(const std::filesystem::path& path) {
    ::setenv("PLUMB_PLUGIN_DIR", path.c_str(), 1);
  }
  ~PluginDirectory() { ::unsetenv("PLUMB_PLUGIN_DIR"); }
};

class Hdf5 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kLibraries / hdf5::kPluginFile))
      GTEST_SKIP() << "built without HDF5: libhdf5 was not found";
  }
};

TensorFile open_file(const std::filesystem::path& path) {
  auto file = open_tensor_file(path);
  if (!file) {
    ADD_FAILURE() << text_of(file.error());
    return {};
  }
  return std::move(*file);
}

const TensorInfo& listed_tensor(const TensorFile& file, std::string_view name) {
  for (const TensorInfo& info : file.listing.tensors)
    if (info.name == name) return info;
  ADD_FAILURE() << name << " is not listed";
  static const TensorInfo none;
  return none;
}

std::string elements_or_error(const TensorFile& file, const TensorInfo& info) {
  auto reader = file.open(info);
  if (!reader) return text_of(reader.error());
  std::string all;
  auto done = for_each_piece(*reader, [&](Bytes b, int64_t, int64_t) { all += as_text(b); });
  return done ? all : text_of(done.error());
}

// Every expected array is there, with its type, shape and bytes.
void expect_arrays(const TensorFile& file, const std::filesystem::path& expected) {
  size_t seen = 0;
  for (const TensorInfo& info : file.listing.tensors) {
    std::string name = info.name.substr(1);
    std::replace(name.begin(), name.end(), '/', '_');
    const TensorFile npy = open_file(expected / (name + ".npy"));
    ASSERT_EQ(npy.listing.tensors.size(), 1u) << info.name;
    const TensorInfo& wanted = npy.listing.tensors[0];
    const DType dtype = info.dtype == DType::kBFloat16 ? DType::kUint16 : info.dtype;
    EXPECT_EQ(name_of(dtype), name_of(wanted.dtype)) << info.name;
    EXPECT_EQ(info.shape, wanted.shape) << info.name;
    EXPECT_TRUE(elements_or_error(file, info) == elements_or_error(npy, wanted)) << info.name;
    ++seen;
  }
  const auto files = std::filesystem::directory_iterator(expected);
  EXPECT_EQ(seen, static_cast<size_t>(std::distance(begin(files), end(files))));
}

TEST_F(Hdf5, EveryKindOfDatasetReadsAsNumpySays) {
  for (const char* name : {"earliest.h5", "latest.h5", "user_block.h5"}) {
    SCOPED_TRACE(name);
    const TensorFile file = open_file(kHdf5Data / name);
    EXPECT_EQ(file.format->name, "hdf5");
    expect_arrays(file, kHdf5Data / "datasets.expected");
    EXPECT_EQ(listed_tensor(file, "/bfloat16").dtype, DType::kBFloat16);
    EXPECT_TRUE(file.listing.warnings.empty());
  }
}

TEST_F(Hdf5, WhatLiesInOnePieceIsReadFromTheFile) {
  const TensorFile file = open_file(kHdf5Data / "earliest.h5");
  for (const char* name : {"/contiguous", "/half", "/big/f4", "/scalar", "/empty"})
    EXPECT_EQ(listed_tensor(file, name).packing, Packing::kPlain) << name;
  for (const char* name : {"/packed/gzip", "/packed/chunked", "/compact", "/late"})
    EXPECT_EQ(listed_tensor(file, name).packing, Packing::kFormat) << name;
}

TEST_F(Hdf5, PyTorchDumps) {
  for (const char* name : {"npu.h5", "gpu.h5"}) {
    SCOPED_TRACE(name);
    const TensorFile file = open_file(kHdf5Data / name);
    expect_arrays(file, kHdf5Data / (std::string(name) + ".expected"));
  }
  const Listing listing = open_file(kHdf5Data / "npu.h5").listing;
  const std::map<std::string, std::string> properties(listing.properties.begin(),
                                                      listing.properties.end());
  EXPECT_THAT(properties, Contains(Pair("/AddmmBackward/1/input/mat1@DataType", "10")));
  EXPECT_THAT(properties, Contains(Pair("/AddmmBackward/1/input/mat1@DeviceType", "10")));
  EXPECT_THAT(properties, Contains(Pair("/AddmmBackward/1/input/mat1@Stride", "5,1")));
  EXPECT_THAT(properties, Contains(Pair("/OnlyNpu/3/output/r@Type", "0")));
}

TEST_F(Hdf5, StrideAttributesOfCpuAndGpuTensorsAreFollowedWhenTheyFit) {
  const TensorFile file = open_file(kHdf5Data / "strided.h5");
  expect_arrays(file, kHdf5Data / "strided.h5.expected");
  EXPECT_EQ(listed_tensor(file, "/Add/1/output/transposed").strides, (Shape{1, 3}));
  EXPECT_TRUE(listed_tensor(file, "/Add/1/output/plain").strides.empty());
  EXPECT_THAT(listed_tensor(file, "/Add/1/output/too_far").notes,
              ElementsAre("its Stride [1, 4] does not fit and is ignored"));
  EXPECT_THAT(listed_tensor(file, "/Add/1/input/alpha").notes,
              ElementsAre("not a tensor argument (Type 6)"));
}

TEST_F(Hdf5, LargeDatasetsComeInPieces) {
  const TensorFile file = open_file(kHdf5Data / "large.h5");
  const std::string elements = elements_or_error(file, listed_tensor(file, "/sevens"));
  ASSERT_EQ(elements.size(), 9'000'000u);
  size_t wrong = 0;
  for (size_t i = 0; i < elements.size(); ++i) wrong += elements[i] != static_cast<char>(i % 7);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(Hdf5, OdditiesAreListedOrMentioned) {
  const TensorFile file = open_file(kHdf5Data / "oddities.h5");
  std::vector<std::string> names;
  for (const TensorInfo& info : file.listing.tensors) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("/bomb", "/elsewhere", "/enumeration", "/fixed_text", "/lzf",
                                 "/null", "/plain", "/record", "/text", "/virtual"));
  const struct {
    const char* name;
    const char* message;
  } kRefused[] = {
      {"/bomb", "0 stored bytes cannot unpack to 4398046511104"},
      {"/elsewhere", "the dataset's data lie in other files, which are never opened"},
      {"/lzf", "filter 32000 (lzf)"},
      {"/text", "the dataset holds no numbers"},
      {"/virtual", "a virtual dataset is put together from other datasets"},
  };
  for (const auto& [name, message] : kRefused)
    EXPECT_THAT(elements_or_error(file, listed_tensor(file, name)), HasSubstr(message)) << name;

  EXPECT_EQ(elements_or_error(file, listed_tensor(file, "/enumeration")), std::string("\0\2", 2));
  EXPECT_EQ(elements_or_error(file, listed_tensor(file, "/fixed_text")), std::string("abcde\0", 6));
  EXPECT_EQ(dtype_text(listed_tensor(file, "/fixed_text")), "text of 3 bytes");
  EXPECT_EQ(listed_tensor(file, "/record").shape, (Shape{1, 12}));
  EXPECT_EQ(listed_tensor(file, "/null").shape, (Shape{0}));
  EXPECT_EQ(elements_or_error(file, listed_tensor(file, "/null")), "");

  std::string deep = "'/deep";
  for (int i = 0; i < 64; ++i) deep += "/d";
  EXPECT_THAT(file.listing.warnings,
              ElementsAre("'/dangling' is a soft link, which is not followed",
                          deep + "' is nested too deep to be listed",
                          "'/group/cycle' is another name of an object listed already",
                          "'/group/self' is another name of an object listed already",
                          "'/outside' is a link into another file, which is not opened",
                          "'/soft' is a soft link, which is not followed",
                          "'/z_again' is another name of an object listed already"));
}

// Reads everything that a damaged file still offers; what comes back does not matter.
void read_all(Bytes bytes) {
  const Format& format = *format_by_name("hdf5");
  auto listing = format.list(bytes, {});
  if (!listing) {
    EXPECT_FALSE(listing.error().what.empty());
    EXPECT_FALSE(listing.error().remedy.empty());
    return;
  }
  for (const TensorInfo& info : listing->tensors) {
    auto reader = TensorReader::open(format, bytes, info);
    if (reader) for_each_piece(*reader, [](Bytes, int64_t, int64_t) {}).ok();
  }
}

TEST_F(Hdf5, TruncatedFilesAreRefused) {
  const auto whole = file_bytes(kHdf5Data / "strided.h5");
  for (size_t size = 8; size < whole.size(); size += whole.size() / 20) {
    const auto listing = format_by_name("hdf5")->list(Bytes(whole).first(size), {});
    ASSERT_FALSE(listing) << size;
    EXPECT_EQ(listing.error().what, "HDF5 file is damaged or cut off") << size;
  }
}

TEST_F(Hdf5, DamagedFilesDoNoHarm) {
  for (const char* name : {"strided.h5", "oddities.h5"}) {
    auto bytes = file_bytes(kHdf5Data / name);
    for (size_t at = 0; at < bytes.size(); at += bytes.size() / 40 + 1) {
      for (std::byte flip : {std::byte{0x01}, std::byte{0xff}}) {
        bytes[at] ^= flip;
        read_all(bytes);
        bytes[at] ^= flip;
      }
    }
  }
}

TEST(Hdf5Probe, LooksForTheSignatureWhereItMayBe) {
  const std::string signature = "\x89HDF\r\n\x1a\n";
  const Format& format = *format_by_name("hdf5");
  for (size_t at : {0, 512, 1024, 2048})
    EXPECT_TRUE(format.probe(as_bytes(std::string(at, 'x') + signature), 4096)) << at;
  for (size_t at : {1, 8, 511, 1536})
    EXPECT_FALSE(format.probe(as_bytes(std::string(at, 'x') + signature), 4096)) << at;
  EXPECT_FALSE(format.probe({}, 0));
}

TEST(Hdf5Plugin, MissingPluginIsAnErrorThatSaysWhatToDo) {
  const PluginDirectory directory("/nowhere");
  const auto file = open_tensor_file(kHdf5Data / "npu.h5");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().what, "this build cannot read HDF5: libplumb_hdf5.so not found");
  EXPECT_THAT(file.error().where, HasSubstr("tried /nowhere/libplumb_hdf5.so"));
  EXPECT_EQ(file.error().remedy, "install it, or build with -DPLUMB_HDF5=ON");
}

// Answers that the real plug-in does not give.
class Records {
 public:
  template <class T>
  Records& number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Records& text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    bytes += text;
    return *this;
  }
  std::string bytes;
};

struct Described {
  std::string name = "/x";
  uint8_t dtype = static_cast<uint8_t>(DType::kFloat32);
  uint32_t item_bytes = 4;
  hdf5::Storage storage = hdf5::Storage::kPacked;
  uint64_t offset = 0;
  uint64_t stored = 8;
  std::vector<uint64_t> shape{2};
};

std::string dataset(const Described& d) {
  Records r;
  r.number(hdf5::Record::kDataset).text(d.name).number(d.dtype).number(uint8_t{0});
  r.number(d.item_bytes).text("type").number(d.storage).number(d.offset).number(d.stored);
  r.number(uint8_t{0}).number(static_cast<uint8_t>(d.shape.size()));
  for (uint64_t size : d.shape) r.number(size);
  return r.number(uint8_t{0}).bytes;
}

const std::string kEnd = "\6";

std::string size_record(uint64_t stored, uint64_t unpacked) {
  return Records().number(hdf5::Record::kSize).number(stored).number(unpacked).bytes;
}
std::string data_record(uint64_t count, std::string_view data) {
  return Records().number(hdf5::Record::kData).number(count).bytes + std::string(data);
}

std::string hostile_file(std::string_view listing, std::string_view elements) {
  Records r;
  r.bytes = "\x89HDF\r\n\x1a\n";
  r.number(uint64_t{listing.size()});
  return r.bytes + std::string(listing) + std::string(elements);
}

TEST(Hdf5Answer, ImpossibleListingsAreRefused) {
  const std::string good = dataset({});
  ASSERT_TRUE(hdf5::listing_from_records(as_bytes(good + kEnd), 100));
  const struct {
    const char* name;
    std::string records;
  } kCases[] = {
      {"nothing", ""},
      {"no end", good},
      {"more after the end", kEnd + kEnd},
      {"unknown record", "\x7f"},
      {"data in a listing", data_record(1, "x") + kEnd},
      {"name too long", std::string("\1\xff\xff\xff\xff", 5)},
      {"unknown dtype", dataset({.dtype = 200}) + kEnd},
      {"item size of another type", dataset({.item_bytes = 8}) + kEnd},
      {"no item size",
       dataset({.dtype = static_cast<uint8_t>(DType::kOpaque), .item_bytes = 0}) + kEnd},
      {"sub-byte type",
       dataset({.dtype = static_cast<uint8_t>(DType::kInt4), .item_bytes = 1}) + kEnd},
      {"unknown storage", dataset({.storage = hdf5::Storage{9}}) + kEnd},
      {"negative size", dataset({.shape = {~uint64_t{0}}}) + kEnd},
      {"too many axes", dataset({.shape = std::vector<uint64_t>(33, 1)}) + kEnd},
      {"unknown remark", std::string("\2\x50\0\0\0\0\0\0\0\0", 10) + kEnd},
      {"unknown fault", std::string("\5\x50", 2) + std::string(12, '\0')},
  };
  for (const auto& [name, records] : kCases) {
    const auto listing = hdf5::listing_from_records(as_bytes(records), 100);
    ASSERT_FALSE(listing) << name;
    EXPECT_THAT(listing.error().what, HasSubstr("makes no sense")) << name;
  }
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(hdf5::listing_from_records(as_bytes(good).first(size), 100)) << size;
}

TEST(Hdf5Answer, DatasetsBeyondTheFileAreListedAsUnreadable) {
  const struct {
    const char* name;
    Described described;
  } kCases[] = {
      {"after the end", {.storage = hdf5::Storage::kPlain, .offset = 93}},
      {"offset overflows", {.storage = hdf5::Storage::kPlain, .offset = ~uint64_t{0}}},
      {"less stored than needed", {.storage = hdf5::Storage::kPlain, .stored = 7}},
      {"bomb", {.shape = {1'000'000'000}}},
  };
  for (const auto& [name, described] : kCases) {
    const std::string records = dataset(described) + kEnd;
    const auto listing = hdf5::listing_from_records(as_bytes(records), 100);
    ASSERT_TRUE(listing) << name;
    ASSERT_EQ(listing->tensors.size(), 1u) << name;
    EXPECT_TRUE(listing->tensors[0].error) << name;
    Buffer scratch;
    EXPECT_FALSE(format_by_name("hdf5")->load({}, listing->tensors[0], scratch)) << name;
  }
  const std::string records = dataset({.shape = {1ull << 62, 1ull << 62}}) + kEnd;
  const auto listing = hdf5::listing_from_records(as_bytes(records), 100);
  ASSERT_TRUE(listing);
  EXPECT_TRUE(listing->tensors.empty());
  EXPECT_THAT(listing->warnings, ElementsAre(HasSubstr("is impossibly large")));
}

// Here the plug-in is tests/io/hdf5_hostile_plugin.cpp, which says what the file wants it to say.
class Hdf5Hostile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kLibraries / "hostile" / hdf5::kPluginFile))
      GTEST_SKIP() << "built with -DPLUMB_HDF5=OFF";
  }
  const PluginDirectory directory_{kLibraries / "hostile"};
};

TEST_F(Hdf5Hostile, ElementsAreCheckedAsTheyCome) {
  const std::string list = dataset({}) + kEnd;
  const std::string good =
      size_record(8, 8) + data_record(5, "abcde") + data_record(3, "fgh") + kEnd;
  const struct {
    const char* name;
    std::string elements;
    const char* message;
  } kCases[] = {
      {"good", good, "abcdefgh"},
      {"nothing", "", "failed on this file"},
      {"cut off", good.substr(0, good.size() - 1), "failed on this file"},
      {"cut off in the data", good.substr(0, 28), "failed on this file"},
      {"no size", data_record(8, "abcdefgh") + kEnd, "makes no sense"},
      {"two sizes", size_record(8, 8) + good, "makes no sense"},
      {"another size", size_record(8, 9) + data_record(9, "abcdefghi") + kEnd, "makes no sense"},
      {"too little", size_record(8, 8) + data_record(7, "abcdefg") + kEnd, "makes no sense"},
      {"too much", size_record(8, 8) + data_record(9, "abcdefghi") + kEnd, "makes no sense"},
      {"far too much", size_record(8, 8) + data_record(~uint64_t{0}, ""), "makes no sense"},
      {"unknown record", "\x50", "makes no sense"},
      {"fault",
       Records()
           .number(hdf5::Record::kError)
           .number(hdf5::Fault::kRead)
           .number(uint64_t{0})
           .text("bad\n\x1b[1m")
           .bytes,
       "/x, the library says: bad??[1m"},
      {"long fault",
       Records()
           .number(hdf5::Record::kError)
           .number(hdf5::Fault::kRead)
           .number(uint64_t{0})
           .text(std::string(9999, 'x'))
           .bytes,
       "makes no sense"},
  };
  for (const auto& [name, elements, message] : kCases) {
    const std::string file = hostile_file(list, elements);
    const Format& format = *format_by_name("hdf5");
    const auto listing = format.list(as_bytes(file), {});
    ASSERT_TRUE(listing) << name;
    Buffer scratch;
    const auto loaded = format.load(as_bytes(file), listing->tensors[0], scratch);
    EXPECT_THAT(loaded ? std::string(as_text(*loaded)) : text_of(loaded.error()),
                HasSubstr(message))
        << name;
  }
}

TEST_F(Hdf5Hostile, CrashesAndFloodsAreErrors) {
  std::string crash = hostile_file("", "");
  crash.replace(8, 8, 8, '\xff');
  const auto crashed = format_by_name("hdf5")->list(as_bytes(crash), {});
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().what, "the HDF5 library failed on this file (signal 6)");

  std::string flood = crash;
  flood[8] = '\xfe';
  const auto flooded = format_by_name("hdf5")->list(as_bytes(flood), {});
  ASSERT_FALSE(flooded);
  EXPECT_EQ(flooded.error().what, "HDF5 file describes far more than it can hold");
}

}  // namespace
}  // namespace plumb::io
