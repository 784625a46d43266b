// SPDX-License-Identifier: Apache-2.0
#include "dump/memory.h"

#include <cstring>
#include <numeric>

#include "metrics/tensor_stats.h"
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tensors in memory that own their bytes.
MemoryTensor memory_tensor(std::string op, DType dtype, Shape shape, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {.op = std::move(op),
          .dtype = dtype,
          .shape = std::move(shape),
          .bytes = *owner,
          .owner = owner};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> counted(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  return bytes;
}

DumpSet set_of(std::vector<MemoryTensor> tensors) {
  auto set = dump_of_tensors(std::move(tensors));
  if (set) return std::move(*set);
  ADD_FAILURE() << set.error().what << ", " << set.error().where;
  return {};
}

std::string error_of(MemoryTensor tensor) {
  const auto set = dump_of_tensors({std::move(tensor)});
  return set ? "none" : set.error().where;
}

metrics::TensorStats stats_of_entry(const DumpSet& set, const Entry& entry) {
  metrics::TensorStats stats;
  auto opened = EntryReader::open(set, entry);
  if (!opened) return stats;
  io::TensorReader& reader = opened->reader();
  const auto read = for_each_piece(reader, [&](Bytes piece, int64_t, int64_t count) {
    stats.append(metrics::stats_of(reader.dtype(), piece.data(), count));
  });
  EXPECT_TRUE(read.ok());
  EXPECT_TRUE(opened->check_intact().ok());
  return stats;
}

// The same entries, elements and statistics as the npy files in `dir`.
void expect_same(const Scratch& dir, const DumpSet& memory) {
  const DumpSet files = open(dir.root());
  EXPECT_EQ(lines_of(memory), lines_of(files));
  for (size_t i = 0; i < std::min(files.entries.size(), memory.entries.size()); ++i) {
    const Entry &ours = memory.entries[i], &theirs = files.entries[i];
    EXPECT_EQ(elements_of(memory, ours), elements_of(files, theirs));
    const auto a = stats_of_entry(memory, ours), b = stats_of_entry(files, theirs);
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.min, b.min);
    EXPECT_EQ(a.max, b.max);
    EXPECT_EQ(a.mean, b.mean);
    EXPECT_EQ(a.sum_squares, b.sum_squares);
    EXPECT_EQ(a.nan, b.nan);
  }
}

TEST(Memory, ReadsWhatFilesWouldHold) {
  Scratch dir;
  std::vector<MemoryTensor> tensors;
  const auto add = [&](const std::string& op, DType dtype, Shape shape) {
    const auto bytes = counted(static_cast<size_t>(*byte_count(dtype, *element_count(shape))));
    dir.write(op + ".npy", io::npy_header(dtype, shape) + std::string(as_text(bytes)));
    tensors.push_back(memory_tensor(op, dtype, std::move(shape), bytes));
  };
  for (DType dtype : {DType::kBool, DType::kInt8, DType::kUint16, DType::kInt64, DType::kFloat16,
                      DType::kFloat32, DType::kFloat64})
    add("op_" + std::string(name_of(dtype)), dtype, {3, 5, 2});
  add("z/scalar", DType::kFloat32, {});
  add("z/empty", DType::kFloat32, {2, 0, 3});
  add("z/relu10", DType::kFloat32, {7});
  add("z/relu2", DType::kFloat32, {7});
  add("large", DType::kFloat32, {1000, 600});  // a file of this size is mapped
  const DumpSet set = set_of(std::move(tensors));
  EXPECT_EQ(set.convention, "memory");
  expect_same(dir, set);
}

TEST(Memory, ReadsStridedTensors) {
  std::vector<int32_t> values(24);
  std::iota(values.begin(), values.end(), 0);
  struct Case {
    std::string name;
    Shape shape, strides;
    int64_t first;
    std::string elements;
  };
  const Case cases[] = {
      {"row-major", {2, 3}, {3, 1}, 0, "int32 [2, 3]: 0 1 2 3 4 5"},
      {"transposed", {3, 2}, {1, 3}, 0, "int32 [3, 2]: 0 3 1 4 2 5"},
      {"every other", {3}, {2}, 5, "int32 [3]: 5 7 9"},
      {"backwards", {4}, {-1}, 23, "int32 [4]: 23 22 21 20"},
      {"broadcast", {2, 3}, {0, 1}, 4, "int32 [2, 3]: 4 5 6 4 5 6"},
      {"empty", {0, 3}, {100, 100}, 0, "int32 [0, 3]:"},
  };
  for (const Case& c : cases) {
    MemoryTensor strided = memory_tensor(c.name, DType::kInt32, c.shape, bytes_of(values));
    strided.strides = c.strides;
    strided.first_element = c.first;
    const DumpSet set = set_of({strided});
    EXPECT_EQ(elements_of(set, set.entries[0]), c.elements) << c.name;
  }
}

TEST(Memory, ReadsTypesSmallerThanAByte) {
  MemoryTensor nibbles = memory_tensor("a", DType::kInt4, {3}, {std::byte{0x21}, std::byte{0x0f}});
  MemoryTensor backwards = nibbles;
  backwards.op = "b";
  backwards.strides = {-1};
  backwards.first_element = 2;
  const DumpSet set = set_of({nibbles, backwards});
  EXPECT_EQ(elements_of(set, set.entries[0]), "int8 [3]: 1 2 -1");
  EXPECT_EQ(elements_of(set, set.entries[1]), "int8 [3]: -1 2 1");
}

TEST(Memory, EntriesAreInTheOrderOfADump) {
  const auto one = [](std::string op, Slot slot, std::optional<int64_t> step, int64_t timestamp) {
    MemoryTensor made = memory_tensor(std::move(op), DType::kUint8, {1}, {std::byte{1}});
    made.slot = std::move(slot);
    made.step = step;
    made.timestamp = timestamp;
    return made;
  };
  const Slot input{SlotKind::kInput, 0, {}}, output{SlotKind::kOutput, 0, {}};
  const DumpSet set =
      set_of({one("a", output, 1, 0), one("late", output, 0, 9), one("z10", output, 0, 1),
              one("z2", output, 0, 1), one("z2", input, 0, 1), one("z2", output, 0, 1)});
  EXPECT_THAT(lines_of(set),
              ElementsAre("step 0 z2 input:0", "step 0 z2 output:0", "step 0 z2 output:0",
                          "step 0 z10 output:0", "step 0 late output:0", "step 1 a output:0"));
}

TEST(Memory, AReaderKeepsTheBytesAlive) {
  auto bytes = std::make_shared<std::vector<std::byte>>(counted(400000));
  const std::weak_ptr<const void> watched = bytes;
  std::optional<DumpSet> set = set_of(
      {{.op = "a", .dtype = DType::kUint8, .shape = {400000}, .bytes = *bytes, .owner = bytes}});
  bytes.reset();
  {
    auto opened = EntryReader::open(*set, set->entries[0]);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->path(), "a (in memory)");
    EXPECT_TRUE(opened->reader().is_random_access());
    set.reset();
    auto again = opened->again();
    ASSERT_TRUE(again.ok());
    auto piece = again->reader().read(399999, 1);
    ASSERT_TRUE(piece.ok());
    EXPECT_EQ((*piece)[0], counted(400000).back());
    EXPECT_TRUE(again->check_intact().ok());
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(Memory, RefusesBytesThatDoNotCoverTheTensor) {
  struct Case {
    Shape shape, strides;
    int64_t first;
    std::string says;
  };
  const Case cases[] = {
      {{5}, {}, 0, "float32 [5] needs 20 bytes, 16 are there"},
      {{-1}, {}, 0, "impossibly large"},
      {{1LL << 62, 4}, {}, 0, "impossibly large"},
      {{1LL << 61}, {}, 0, "impossibly large"},  // the bits overflow
      {{0, 1LL << 62, 4}, {}, 0, "impossibly large"},
      {{4}, {2}, 0, "it reaches from 0 to 6, 4 elements are stored"},
      {{4}, {-1}, 2, "it reaches from -1 to 2"},
      {{2}, {1}, INT64_MAX, "offsets overflow"},
      {{3}, {INT64_MAX}, 0, "offsets overflow"},
      {{1}, {1}, 4, "it reaches from 4 to 4"},
      {{2, 2}, {1}, 0, "one stride per axis is needed"},
  };
  for (const Case& c : cases) {
    MemoryTensor hostile = memory_tensor("op", DType::kFloat32, c.shape, counted(16));
    hostile.strides = c.strides;
    hostile.first_element = c.first;
    const std::string error = error_of(hostile);
    EXPECT_THAT(error, HasSubstr(c.says)) << plumb::to_string(c.shape);
    EXPECT_THAT(error, HasSubstr("memory, op output:0"));
  }
  EXPECT_EQ(dump_of_tensors(std::vector<MemoryTensor>{}).error().where, "memory: no tensors");
}

}  // namespace
}  // namespace plumb::dump
