// SPDX-License-Identifier: Apache-2.0
#include "dump/reduced.h"

#include <cmath>
#include <limits>

#include "dump/names.h"
#include "io/file.h"
#include "trees.h"

namespace plumb::dump {
namespace {

TEST(Reduced, NamesOfDumpFiles) {
  const struct {
    const char* name;
    const char* reduced;  // null: not touched
  } kCases[] = {
      {"mm-aten.mm.default.OUTPUT.0.20250601120000000001.npy",
       "mm-aten.mm.default.OUTPUT.0.20250601120000000001_min_max.npy"},
      {"Add.Add_2.44.6.1706596912161941", "Add.Add_2.44.6.1706596912161941_min_max.npz"},
      {"Conv2D.a.b.3.4.1706596912161941.4.1.2.0",
       "Conv2D.a.b.3.4.1706596912161941.4.1.2.0_min_max.npz"},
      {"mm-aten.mm.default.OUTPUT.0.20250601120000000001_min_max.npy", nullptr},
      {"Add.Add_2.44.6.1706596912161941_min_max.npz", nullptr},
      {"Opdebug.Node_OpDebug.3.4.1706596912161941", nullptr},  // an overflow record
      {"weights.npy", nullptr},
      {"graph.txt", nullptr},
      {".plumb-reduce.lock", nullptr},
      {"", nullptr},
  };
  for (const auto& c : kCases) {
    const auto reduced = reduced_name(c.name);
    EXPECT_EQ(reduced, c.reduced == nullptr ? std::nullopt : std::optional<std::string>(c.reduced))
        << c.name;
  }
}

TEST(Reduced, CommonTypeIsNumpys) {
  std::ifstream file(sample("dump/reduced/promotion.txt"));
  std::string a, b, expected;
  int lines = 0;
  while (file >> a >> b >> expected) {
    const DType types[] = {*dtype_from_name(a), *dtype_from_name(b)};
    EXPECT_EQ(name_of(common_dtype(types)), expected) << a << " " << b;
    ++lines;
  }
  EXPECT_EQ(lines, 144);
  EXPECT_EQ(common_dtype({}), DType::kFloat64);
}

ReducedTensor reduced_tensor(Slot slot, std::string dtype, Shape shape, long double min,
                             long double max) {
  ReducedTensor tensor;
  tensor.slot = std::move(slot);
  FullStatistics& s = tensor.full.emplace();
  s.dtype = std::move(dtype);
  s.count = *element_count(shape);
  s.shape = std::move(shape);
  s.min = min;
  s.max = max;
  s.mean = 0.1;
  s.std = 1.0 / 3;
  s.l2 = 2.5;
  s.crc32 = 0xdeadbeef;
  return tensor;
}

void write(const std::filesystem::path& path, const ReducedFile& file) {
  auto sink = FileSink::create(path);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE(write_reduced(*sink, file, path.extension() == ".npy").ok());
  ASSERT_TRUE(sink->commit().ok());
}

TEST(Reduced, WhatIsWrittenReadsBack) {
  const Scratch scratch;
  ReducedFile file{"conv/1", 12345, 1794803268827479572, {}, true};
  const int64_t kLow = std::numeric_limits<int64_t>::min();
  file.tensors.push_back(reduced_tensor({SlotKind::kInput, 0, {}}, "int64", {3, 4}, kLow, 7));
  file.tensors.push_back(reduced_tensor({SlotKind::kInput, 1, {}}, "bfloat16", {0, 4}, 0, 0));
  file.tensors.push_back(reduced_tensor({SlotKind::kOutput, 0, {}}, "float16", {2}, -0.5, 65504));
  file.tensors.push_back(
      reduced_tensor({SlotKind::kOther, kNamed, "space.0"}, "opaque", {64}, 0, 0));
  file.tensors[2].full->nan = 1;
  file.tensors[2].full->zeros = 1;
  file.tensors[2].sketch.assign(100, std::byte{7});
  const auto path = scratch.root() / "Conv.conv.1.2.1706596912161941_min_max.npz";
  write(path, file);
  const auto read = read_reduced(path);
  ASSERT_TRUE(read.ok()) << read.error().where;
  EXPECT_TRUE(read->is_ours);
  EXPECT_EQ(read->op_name, "conv/1");
  EXPECT_EQ(read->source_bytes, 12345u);
  EXPECT_EQ(read->source_time_ns, 1794803268827479572);
  ASSERT_EQ(read->tensors.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->tensors[i].slot, file.tensors[i].slot);
    EXPECT_EQ(read->tensors[i].has_sketch, i == 2);
  }
  EXPECT_EQ(read->tensors[0].full, file.tensors[0].full);
  EXPECT_EQ(read->tensors[2].full, file.tensors[2].full);
  EXPECT_EQ(read->tensors[2].full->crc32, 0xdeadbeef);
  EXPECT_TRUE(std::isnan(*read->tensors[2].min));
  const auto sketch = read_sketch(path, file.tensors[2].slot);
  ASSERT_TRUE(sketch.ok());
  EXPECT_EQ(*sketch, file.tensors[2].sketch);
  EXPECT_FALSE(read_sketch(path, file.tensors[0].slot).ok());
  // numpy sees two arrays.
  const auto archive = io::open_tensor_file(path);
  ASSERT_TRUE(archive.ok());
  ASSERT_EQ(archive->listing.tensors.size(), 2u);
  EXPECT_EQ(archive->listing.tensors[0].dtype, DType::kFloat64);  // int64 with a float
  EXPECT_EQ(archive->listing.tensors[0].shape, (Shape{2, 2}));
  EXPECT_TRUE(archive->listing.warnings.empty());
}

TEST(Reduced, ArraysHoldMoreBehindThem) {
  const Scratch scratch;
  ReducedFile file{"", 1, 2, {}, true};
  file.tensors.push_back(reduced_tensor({SlotKind::kOutput, 2, "1"}, "float16", {4}, -1.5, 3));
  file.tensors[0].sketch.assign(10, std::byte{1});
  const auto path = scratch.root() / "mm-aten.mm.OUTPUT.2.1.20250601120000000001_min_max.npy";
  write(path, file);
  Entry model;
  model.slot = file.tensors[0].slot;
  const auto entries = list_reduced(path, "x", model);
  ASSERT_TRUE(entries.ok()) << entries.error().where;
  const Entry& entry = entries->front();
  EXPECT_EQ(entry.statistics->min, -1.5);
  EXPECT_EQ(entry.statistics->std, 1.0 / 3);
  EXPECT_EQ(entry.statistics->checksum, "deadbeef");
  EXPECT_TRUE(entry.statistics->has_sketch);
  EXPECT_EQ(entry.recorded_shape(), Shape{4});
  EXPECT_EQ(entry.dtype_text(), "float16");
  EXPECT_TRUE(read_sketch(path, entry.slot).ok());
}

TEST(Reduced, EmptyArray) {
  const Scratch scratch;
  ReducedFile file{"", 1, 2, {}, true};
  file.tensors.push_back(reduced_tensor({}, "float32", {0}, 0, 0));
  const auto path = scratch.root() / "mm-aten.mm.OUTPUT.0.20250601120000000001_min_max.npy";
  write(path, file);
  const auto entries = list_reduced(path, "x", Entry());
  ASSERT_TRUE(entries.ok()) << entries.error().where;
  EXPECT_FALSE(entries->front().statistics->min);
  EXPECT_EQ(entries->front().recorded_shape(), Shape{0});
}

TEST(Reduced, EveryCutIsRefused) {
  const Scratch scratch;
  ReducedFile file{"op", 1, 2, {}, true};
  file.tensors.push_back(reduced_tensor({SlotKind::kInput, 0, {}}, "float32", {4}, -1, 3));
  for (const char* name : {"a_min_max.npz", "a_min_max.npy"}) {
    const auto path = scratch.root() / name;
    write(path, file);
    std::ifstream stream(path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    constexpr size_t kArray = 136;  // an npy array alone is what the script writes
    for (size_t size = 1; size < whole.size(); size += 7) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
      const auto read = read_reduced(path);
      const bool is_script = path.extension() == ".npy" && size >= kArray && size < kArray + 4;
      EXPECT_EQ(read.ok(), is_script) << name << " " << size;
      EXPECT_FALSE(read.ok() && read->is_ours) << name << " " << size;
    }
  }
}

TEST(Reduced, DamagedStatisticsAreRefused) {
  const Scratch scratch;
  ReducedFile file{"op", 1, 2, {}, true};
  file.tensors.push_back(reduced_tensor({SlotKind::kInput, 0, {}}, "float32", {4}, -1, 3));
  const auto path = scratch.root() / "a_min_max.npz";
  const auto spoil = [&](const auto& change) {
    ReducedFile other = file;
    change(other);
    write(path, other);
    return read_reduced(path);
  };
  EXPECT_TRUE(spoil([](ReducedFile&) {}).ok());
  EXPECT_FALSE(spoil([](ReducedFile& f) { f.tensors[0].full->count = 5; }).ok());
  EXPECT_FALSE(spoil([](ReducedFile& f) { f.tensors[0].full->nan = 5; }).ok());
  EXPECT_FALSE(spoil([](ReducedFile& f) { f.tensors[0].full->negative_inf = -1; }).ok());
  EXPECT_FALSE(spoil([](ReducedFile& f) { f.tensors[0].full->shape = {-4, -1}; }).ok());
  EXPECT_FALSE(spoil([](ReducedFile& f) { f.tensors[0].slot.index = 3; }).ok());
}

// A dump that was kept says more than its statistics.
TEST(Reduced, OriginalsComeFirst) {
  const Scratch scratch;
  const std::string stem = "0/mm-aten.mm.default.OUTPUT.0.20250601120000000001";
  scratch.npy(stem + ".npy");
  ReducedFile file{"", 1, 2, {}, true};
  file.tensors.push_back(reduced_tensor({}, "float32", {3}, 1, 3));
  write(scratch.root() / (stem + "_min_max.npy"), file);
  const DumpSet set = open(scratch.root());
  ASSERT_EQ(set.entries.size(), 1u);
  EXPECT_EQ(set.entries[0].parts.size(), 1u);
  ASSERT_EQ(set.skipped.size(), 1u);
  EXPECT_EQ(set.skipped[0].reason, kHasOriginal);
}

}  // namespace
}  // namespace plumb::dump
