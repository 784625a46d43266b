// SPDX-License-Identifier: Apache-2.0
#include "compare/elements.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "compare/tensors.h"
#include "tensor/decode.h"

namespace plumb::compare {
namespace {

using dump::EntryReader;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kElementsPerChunk = metrics::kPairPiece * kPiecesPerChunk;

// Two tensors of one shape.
struct Pair {
  Tensors dir;
  EntryReader target, golden;

  template <class T, class G>
  Pair(DType t_type, const std::vector<T>& t, DType g_type, const std::vector<G>& g, Shape shape)
      : target(open_tensor(dir.npy("target.npy", t_type, shape, t))),
        golden(open_tensor(dir.npy("golden.npy", g_type, shape, g))) {}
  template <class T>
  Pair(DType dtype, const std::vector<T>& t, const std::vector<T>& g, Shape shape)
      : Pair(dtype, t, dtype, g, std::move(shape)) {}
  Pair(const std::vector<float>& t, const std::vector<float>& g)
      : Pair(DType::kFloat32, t, g, {std::ssize(t)}) {}

  std::vector<Element> worst(size_t count) {
    return or_throw(worst_elements(target, golden, count, RunContext{}));
  }
  std::vector<AxisError> along(int64_t axis) {
    return or_throw(errors_along(target, golden, axis, RunContext{}));
  }
};

// "position: target golden error relative"
std::vector<std::string> element_lines(const std::vector<Element>& elements) {
  std::vector<std::string> lines;
  for (const Element& e : elements)
    lines.push_back(
        fmt::format("{}: {} {} {} {}", e.position, e.target, e.golden, e.error, e.relative));
  return lines;
}

TEST(FirstDifference, IsTheFirstInPlainOrder) {
  const auto text = [](Pair pair, int64_t off) {
    const auto first = or_throw(first_difference(pair.target, pair.golden, RunContext{}));
    return first ? difference_text(*first, pair.golden.reader().shape(), off,
                                   pair.golden.reader().count())
                 : "none";
  };
  EXPECT_EQ(text({DType::kInt32, std::vector<int32_t>{1, 2, 12, 4}, {1, 2, 13, 4}, {2, 2}}, 1),
            "1 of 4 elements differs, [1, 0]: 12 instead of 13");
  EXPECT_EQ(text({{1, 2, 3}, {1, 5, 9}}, 2),
            "2 of 3 elements differ, the first [1]: 2 instead of 5");
  EXPECT_EQ(text({{1, kNan, 3}, {1, kNan, 3}}, 1), "none");
  std::vector<float> t(10000, 1), g = t;
  t[9999] = 2;
  EXPECT_EQ(text({t, g}, 1), "1 of 10000 elements differs, [9999]: 2 instead of 1");
}

TEST(WorstElements, WorstFirstThenByPosition) {
  Pair pair({1, 2, 3, 4, 5, 6}, {1, 3, 3, 5, 2, 5});
  EXPECT_THAT(element_lines(pair.worst(10)),
              ElementsAre("4: 5 2 3 1.5", fmt::format("1: 2 3 1 {}", 1.0 / 3), "3: 4 5 1 0.2",
                          "5: 6 5 1 0.2"));
  EXPECT_THAT(element_lines(pair.worst(2)),
              ElementsAre("4: 5 2 3 1.5", fmt::format("1: 2 3 1 {}", 1.0 / 3)));
  EXPECT_THAT(pair.worst(0), IsEmpty());
}

TEST(WorstElements, NothingDiffers) {
  EXPECT_THAT(Pair({1, kNan, kInf, -0.0f}, {1, kNan, kInf, 0.0f}).worst(5), IsEmpty());
  EXPECT_THAT(Pair(std::vector<float>{}, std::vector<float>{}).worst(5), IsEmpty());
}

TEST(WorstElements, NumbersAgainstNone) {
  Pair pair({kNan, 1, kInf, 5, kInf, 1}, {1, kNan, 1, 4, -kInf, 0});
  EXPECT_THAT(element_lines(pair.worst(10)),
              ElementsAre("0: nan 1 inf inf", "1: 1 nan inf inf", "2: inf 1 inf inf",
                          "4: inf -inf inf inf", "3: 5 4 1 0.25", "5: 1 0 1 inf"));
}

// Doubles would take these for equal.
TEST(WorstElements, IntegersBeyondDoubles) {
  const int64_t big = int64_t{1} << 53, most = std::numeric_limits<int64_t>::max();
  const int64_t least = std::numeric_limits<int64_t>::min();
  Pair same(DType::kInt64, std::vector<int64_t>{big, big + 1, most, least, 3},
            std::vector<int64_t>{big, big, most - 1, least + 2, 3}, {5});
  auto worst = same.worst(5);
  ASSERT_EQ(worst.size(), 3u);
  EXPECT_EQ(worst[0].position, 3);
  EXPECT_EQ(worst[0].error, 2);
  EXPECT_EQ(worst[0].target, "-9223372036854775808");
  EXPECT_EQ(worst[0].golden, "-9223372036854775806");
  EXPECT_EQ(worst[1].position, 1);
  EXPECT_EQ(worst[1].error, 1);
  EXPECT_EQ(worst[1].target, "9007199254740993");
  EXPECT_EQ(worst[2].golden, "9223372036854775806");

  Pair opposite(DType::kInt64, std::vector<int64_t>{most}, std::vector<int64_t>{least}, {1});
  EXPECT_EQ(opposite.worst(1)[0].error, 0x1p64);

  const auto unsigned_most = std::numeric_limits<uint64_t>::max();
  Pair mixed(DType::kUint64, std::vector<uint64_t>{uint64_t{1} << 53, unsigned_most, 7},
             DType::kInt64, std::vector<int64_t>{big + 1, -1, 7}, {3});
  worst = mixed.worst(5);
  ASSERT_EQ(worst.size(), 2u);
  EXPECT_EQ(worst[0].target, "18446744073709551615");
  EXPECT_EQ(worst[0].golden, "-1");
  EXPECT_EQ(worst[0].error, 0x1p64);
  EXPECT_EQ(worst[1].error, 1);
}

TEST(WorstElements, ComplexByDistance) {
  Pair pair(DType::kComplex64, std::vector<float>{1, 2, 3, 4, 0, 0, 1, kNan},
            std::vector<float>{1, 2, 0, 0, 0, -1, 1, 1}, {4});
  EXPECT_THAT(element_lines(pair.worst(10)),
              ElementsAre("3: 1+nani 1+1i inf inf", "1: 3+4i 0+0i 5 inf", "2: 0+0i 0-1i 1 1"));
}

TEST(WorstElements, ValuesReadBack) {
  Pair doubles(DType::kFloat64, std::vector<double>{0.1}, std::vector<double>{0.30000000000000004},
               {1});
  EXPECT_EQ(doubles.worst(1)[0].target, "0.1");
  EXPECT_EQ(doubles.worst(1)[0].golden, "0.30000000000000004");
  Pair floats({0.1f}, {16777216.0f});
  EXPECT_EQ(floats.worst(1)[0].target, "0.1");
  EXPECT_EQ(std::stof(floats.worst(1)[0].golden), 16777216.0f);
  Pair integers(DType::kInt32, std::vector<int32_t>{-2147483647 - 1},
                std::vector<int32_t>{2147483647}, {1});
  EXPECT_THAT(element_lines(integers.worst(1)),
              ElementsAre(testing::StartsWith("0: -2147483648 2147483647 4294967295")));
  Pair bools(DType::kBool, std::vector<uint8_t>{1, 2}, std::vector<uint8_t>{0, 1}, {2});
  EXPECT_THAT(element_lines(bools.worst(5)), ElementsAre("0: 1 0 1 inf"));
}

// Ties and the worst lie in different chunks, and threads finish in any order.
TEST(WorstElements, AcrossChunks) {
  const int64_t count = 2 * kElementsPerChunk + 3;
  const std::vector<int8_t> golden(static_cast<size_t>(count), 0);
  std::vector<int8_t> target = golden;
  const int64_t ones[] = {7, kElementsPerChunk - 1, kElementsPerChunk, 2 * kElementsPerChunk,
                          count - 1};
  for (int64_t at : ones) target[static_cast<size_t>(at)] = 1;
  target[static_cast<size_t>(kElementsPerChunk + 1)] = -9;
  Pair pair(DType::kInt8, target, golden, {count});
  for (size_t threads : {1, 4}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    std::vector<int64_t> positions;
    for (const Element& element : pair.worst(4)) positions.push_back(element.position);
    EXPECT_THAT(positions,
                ElementsAre(kElementsPerChunk + 1, 7, kElementsPerChunk - 1, kElementsPerChunk));
  }
}

TEST(Coordinates, OfAPosition) {
  EXPECT_EQ(coordinates(0, {}), Shape{});
  EXPECT_EQ(coordinates(5, {6}), Shape{5});
  EXPECT_EQ(coordinates(0, {2, 3, 4}), (Shape{0, 0, 0}));
  EXPECT_EQ(coordinates(23, {2, 3, 4}), (Shape{1, 2, 3}));
  EXPECT_EQ(coordinates(13, {2, 3, 1, 4}), (Shape{1, 0, 0, 1}));
}

TEST(ErrorsAlong, ABadChannelStandsOut) {
  const Shape shape{2, 3, 2, 2};
  std::vector<float> golden, target;
  for (int64_t i = 0; i < 24; ++i) {
    golden.push_back(static_cast<float>(i + 1));
    const bool is_bad = coordinates(i, shape)[1] == 1;
    target.push_back(golden.back() + (is_bad ? 2.0f : 0.0f));
  }
  Pair pair(DType::kFloat32, target, golden, shape);
  const auto channels = pair.along(1);
  ASSERT_EQ(channels.size(), 3u);
  EXPECT_EQ(channels[0].dd, 0);
  EXPECT_EQ(channels[0].rel_euclid(), 0);
  EXPECT_EQ(channels[1].index, 1);
  EXPECT_EQ(channels[1].count, 8);
  EXPECT_EQ(channels[1].dd, 8 * 4);
  EXPECT_EQ(channels[1].max_abs, 2);
  // Channel 1 holds 5..8 and 17..20: squares sum to 174 + 1374.
  EXPECT_EQ(channels[1].gg, 1548);
  EXPECT_EQ(channels[1].rel_euclid(), std::sqrt(32.0 / 1548));
  EXPECT_EQ(channels[2].dd, 0);

  const auto batches = pair.along(0), last = pair.along(-1), same = pair.along(3);
  ASSERT_EQ(batches.size(), 2u);
  for (const AxisError& batch : batches) EXPECT_EQ(batch.dd, 16);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[1].dd, 16);
  EXPECT_EQ(last[1].gg, same[1].gg);
  EXPECT_EQ(pair.along(-4).size(), 2u);
  EXPECT_EQ(pair.along(-3)[1].dd, 32);
}

TEST(ErrorsAlong, NoSuchAxis) {
  Pair matrix(DType::kFloat32, std::vector<float>{1, 2}, std::vector<float>{1, 2}, {1, 2});
  for (int64_t axis : {int64_t{2}, int64_t{-3}, std::numeric_limits<int64_t>::max(),
                       std::numeric_limits<int64_t>::min()}) {
    const auto errors = errors_along(matrix.target, matrix.golden, axis, RunContext{});
    ASSERT_FALSE(errors);
    EXPECT_EQ(errors.error().what, "the tensor has no such axis");
    EXPECT_EQ(errors.error().where, fmt::format("axis {} of shape [1, 2]", axis));
    EXPECT_EQ(errors.error().remedy, "axes go from 0 to 1");
  }
  Pair scalar(DType::kFloat32, std::vector<float>{1}, std::vector<float>{1}, {});
  const auto errors = errors_along(scalar.target, scalar.golden, 0, RunContext{});
  ASSERT_FALSE(errors);
  EXPECT_EQ(errors.error().remedy, "it is a scalar");
}

TEST(ErrorsAlong, OddValuesAndZeros) {
  Pair pair(DType::kFloat32, std::vector<float>{1, kNan, 3, kInf, 2, kNan},
            std::vector<float>{1, 2, 0, kInf, 0, kNan}, {3, 2});
  const auto columns = pair.along(1);
  EXPECT_EQ(columns[0].odd, 0);
  EXPECT_EQ(columns[0].dd, 13);
  EXPECT_EQ(columns[1].odd, 1);
  EXPECT_EQ(columns[1].dd, 0);
  const auto rows = pair.along(0);
  EXPECT_EQ(rows[1].rel_euclid(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(rows[2].odd, 0);
}

TEST(ErrorsAlong, ComplexElementsCountOnce) {
  Pair pair(DType::kComplex64, std::vector<float>{1, 2, 3, 4}, std::vector<float>{1, 2, 0, 0}, {2});
  const auto elements = pair.along(0);
  EXPECT_EQ(elements[0].dd, 0);
  EXPECT_EQ(elements[0].gg, 5);
  EXPECT_EQ(elements[1].dd, 25);
  EXPECT_EQ(elements[1].count, 1);
}

TEST(ErrorsAlong, EmptyTensors) {
  Pair pair(DType::kFloat32, std::vector<float>{}, std::vector<float>{}, {0, 3});
  EXPECT_THAT(pair.along(0), IsEmpty());
  ASSERT_EQ(pair.along(1).size(), 3u);
  EXPECT_EQ(pair.along(1)[0].count, 0);
}

// Chunk borders cut rows; a long axis makes the windows small. Neither shows.
TEST(ErrorsAlong, AcrossChunks) {
  for (const int64_t length : {int64_t{3}, int64_t{700001}}) {
    const int64_t rows = (2 * kElementsPerChunk + 5) / length, count = rows * length;
    std::vector<int8_t> golden(static_cast<size_t>(count), 1), target = golden;
    for (int64_t row = 0; row < rows; ++row)
      target[static_cast<size_t>(row * length + length - 2)] = 4;
    Pair pair(DType::kInt8, target, golden, {rows, length});
    const auto errors = pair.along(1);
    ASSERT_EQ(std::ssize(errors), length);
    double all = 0;
    for (const AxisError& error : errors) {
      all += error.dd;
      EXPECT_EQ(error.gg, static_cast<double>(rows));
    }
    EXPECT_EQ(all, 9.0 * static_cast<double>(rows));
    EXPECT_EQ(errors[static_cast<size_t>(length - 2)].dd, all);
    EXPECT_EQ(errors[static_cast<size_t>(length - 2)].rel_euclid(), 3);
  }
  const int64_t longest = (1 << 20) + 1;
  Pair long_axis(DType::kInt8, std::vector<int8_t>(longest), std::vector<int8_t>(longest),
                 {longest});
  EXPECT_FALSE(errors_along(long_axis.target, long_axis.golden, 0, RunContext{}));
}

// --- the difference as a file

std::string difference_of(Pair& pair) {
  const auto path = pair.dir.path() / "difference.npy";
  if (auto saved = save_difference(pair.target, pair.golden, path, RunContext{}); !saved)
    return saved.error().what;
  EntryReader read = open_tensor(path);
  io::TensorReader& reader = read.reader();
  std::string text = fmt::format("{} {}:", name_of(reader.dtype()), to_string(reader.shape()));
  const Bytes bytes = or_throw(reader.read(0, reader.count()));
  const bool wide = reader.dtype() == DType::kFloat64 || reader.dtype() == DType::kComplex128;
  std::vector<double> values(bytes.size() / (wide ? 8 : 4));
  decode_double(wide ? DType::kFloat64 : DType::kFloat32, bytes.data(), std::ssize(values),
                values.data());
  for (double value : values) text += fmt::format(" {}", value);
  return text;
}

// The numbers are numpy's: target - golden, in the type of the result.
TEST(SaveDifference, IsNumpysSubtraction) {
  const std::vector<float> golden{1.25f, 2.5f, 0.3f, -3e38f, 1, kInf};
  Pair floats({1.5f, -2.25f, 0.1f, 3e38f, kNan, kInf}, golden);
  EXPECT_THAT(difference_of(floats),
              testing::MatchesRegex(
                  R"(float32 \[6\]: 0\.25 -4\.75 -0\.20000001788139343 inf -?nan -?nan)"));
  Pair halves(DType::kFloat16, std::vector<uint16_t>{0x3e00, 0xc080, 0x2e66, 0x7b53},
              DType::kFloat32, std::vector<float>(golden.begin(), golden.begin() + 4), {2, 2});
  EXPECT_EQ(difference_of(halves),
            "float32 [2, 2]: 0.25 -4.75 -0.20002442598342896 3.0000000054977558e+38");
  Pair wide(DType::kFloat64, std::vector<double>{0.1, 1e300, -0.0}, DType::kFloat32,
            std::vector<float>{0.3f, 1, 0}, {3});
  EXPECT_EQ(difference_of(wide), fmt::format("float64 [3]: {} 1e+300 -0", -0x1.99999b3333333p-3));
  Pair integers(DType::kInt64,
                std::vector<int64_t>{(int64_t{1} << 62) + 1, -5, (int64_t{1} << 53) + 1},
                std::vector<int64_t>{int64_t{1} << 62, 7, int64_t{1} << 53}, {3});
  EXPECT_EQ(difference_of(integers), "float64 [3]: 1 -12 1");
  Pair bytes(DType::kUint8, std::vector<uint8_t>{1, 255}, std::vector<uint8_t>{2, 0}, {2});
  EXPECT_EQ(difference_of(bytes), "float32 [2]: -1 255");
  Pair complex(DType::kComplex64, std::vector<float>{1, 2, 3, -4},
               std::vector<float>{0.5f, 1, 3, 1}, {2});
  EXPECT_EQ(difference_of(complex), "complex64 [2]: 0.5 1 0 -5");
  Pair complex128(DType::kComplex128, std::vector<double>{0.1, 2}, DType::kComplex64,
                  std::vector<float>{0.5f, 1}, {1});
  EXPECT_EQ(difference_of(complex128), "complex128 [1]: -0.4 1");
  Pair empty(DType::kFloat32, std::vector<float>{}, std::vector<float>{}, {0, 2});
  EXPECT_EQ(difference_of(empty), "float32 [0, 2]:");
}

TEST(SaveDifference, SpansPieces) {
  const int64_t count = 2 * metrics::kPairPiece + 1;
  std::vector<int8_t> golden(static_cast<size_t>(count), 1), target = golden;
  target.back() = 3;
  target[static_cast<size_t>(metrics::kPairPiece)] = 0;
  Pair pair(DType::kInt8, target, golden, {count});
  const auto path = pair.dir.path() / "difference.npy";
  ASSERT_TRUE(save_difference(pair.target, pair.golden, path, RunContext{}));
  EntryReader read = open_tensor(path);
  ASSERT_EQ(read.reader().count(), count);
  const Bytes bytes = or_throw(read.reader().read(0, count));
  std::vector<float> values(static_cast<size_t>(count));
  decode_float(DType::kFloat32, bytes.data(), count, values.data());
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(values[static_cast<size_t>(i)], i == count - 1             ? 2
                                              : i == metrics::kPairPiece ? -1
                                                                         : 0);
}

TEST(SaveDifference, LeavesNothingBehindWhenItFails) {
  Pair pair({1, 2, 3}, {1, 2, 4});
  const auto path = pair.dir.path() / "missing" / "difference.npy";
  EXPECT_FALSE(save_difference(pair.target, pair.golden, path, RunContext{}));

  const auto shrinking = pair.dir.npy("shrinks.npy", std::vector<float>(60000, 1.0f));
  EntryReader whole = open_tensor(pair.dir.npy("whole.npy", std::vector<float>(60000, 1.0f)));
  EntryReader part = open_tensor(shrinking);
  std::filesystem::resize_file(shrinking, 8192);
  const auto saved = save_difference(whole, part, pair.dir.path() / "d.npy", RunContext{});
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().where, HasSubstr("shrinks.npy"));
  EXPECT_FALSE(exists(pair.dir.path() / "d.npy"));
  EXPECT_FALSE(worst_elements(whole, part, 3, RunContext{}));
  EXPECT_FALSE(errors_along(whole, part, 0, RunContext{}));
}

TEST(Elements, HalfAResultIsNoResult) {
  Pair pair({1, 2, 3}, {1, 2, 4});
  RunContext context;
  context.cancelled = true;
  const auto worst = worst_elements(pair.target, pair.golden, 3, context);
  ASSERT_FALSE(worst);
  EXPECT_EQ(worst.error().what, "interrupted");
  EXPECT_FALSE(errors_along(pair.target, pair.golden, 0, context));
  EXPECT_FALSE(save_difference(pair.target, pair.golden, pair.dir.path() / "d.npy", context));
  EXPECT_FALSE(exists(pair.dir.path() / "d.npy"));
}

TEST(Elements, OnlyPairs) {
  Pair pair({1, 2, 3}, {1, 2, 4});
  EntryReader longer = open_tensor(pair.dir.npy("longer.npy", {1, 2, 3, 4}));
  EXPECT_FALSE(worst_elements(pair.target, longer, 3, RunContext{}));
  EXPECT_FALSE(errors_along(pair.target, longer, 0, RunContext{}));
  EXPECT_FALSE(save_difference(pair.target, longer, pair.dir.path() / "d.npy", RunContext{}));
}

}  // namespace
}  // namespace plumb::compare
