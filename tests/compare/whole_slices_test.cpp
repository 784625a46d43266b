// SPDX-License-Identifier: Apache-2.0
#include "compare/whole_slices.h"

#include <functional>

#include <gtest/gtest.h>

#include "compare/tensors.h"

namespace plumb::compare {
namespace {

constexpr int64_t kRows = 20, kColumns = 6;

// x1, y1, x2, y2, score, class; or with its axes exchanged.
std::vector<float> rows(bool is_turned) {
  std::vector<float> values(kRows * kColumns);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column)
      values[static_cast<size_t>(is_turned ? column * kRows + row : row * kColumns + column)] =
          column == 5 ? static_cast<float>(row % 7)
                      : 0.37F * static_cast<float>(row) + 11.1F * static_cast<float>(column + 1);
  return values;
}

std::string found(std::vector<float> golden, const std::function<void(std::vector<float>&)>& change,
                  const Shape& shape, DType shown = DType::kFloat32, double marks_from = 0) {
  std::vector<float> target = golden;
  change(target);
  const Tensors files;
  const auto t = open_tensor(files.npy("t.npy", DType::kFloat32, shape, target));
  const auto g = open_tensor(files.npy("g.npy", DType::kFloat32, shape, golden));
  const auto slice = or_throw(find_whole_slice(t, g, {shown, shown}, marks_from, RunContext{}));
  return slice ? text_of(*slice, shape) : "";
}

TEST(WholeSlices, MarksDoNotCount) {
  std::vector<float> golden = rows(false);
  for (int64_t row = 0; row < kRows; ++row)
    golden[static_cast<size_t>(row * kColumns + 5)] = -3e38F;
  const auto change = [](std::vector<float>& x) {
    for (float& value : x) value = value < -1e38F ? -65504 : value;
    x[0] += 0.07F;
  };
  EXPECT_EQ(found(golden, change, {kRows, kColumns}, DType::kFloat32, -32752), "");
}

TEST(WholeSlices, ClassesAmongBoxesAndScores) {
  const Shape plain{kRows, kColumns}, turned{1, kColumns, kRows};
  const auto one = [](std::vector<float>& x) { x[3 * kColumns + 5] += 1; };
  EXPECT_EQ(found(rows(false), one, plain),
            "axis 1, index 5: 1 of 20 whole numbers differs, [3, 5]: 4 instead of 3; they are "
            "compared as ids");
  EXPECT_EQ(found(
                rows(true),
                [](std::vector<float>& x) {
                  for (int64_t row = 0; row < kRows; ++row)
                    x[static_cast<size_t>(5 * kRows + row)] += 2;
                },
                turned),
            "axis 1, index 5: 20 of 20 whole numbers differ, the first [0, 5, 0]: 2 instead of 0; "
            "they are compared as ids");
}

TEST(WholeSlices, OfAFewRows) {
  for (const int64_t count : {1, 2, 5, 15}) {
    std::vector<float> few = rows(false);
    few.resize(static_cast<size_t>(count * kColumns));
    few[5] = 3;
    EXPECT_NE(found(few, [](std::vector<float>& x) { x[5] += 1; }, {count, kColumns}), "") << count;
  }
  // bfloat16 has three digits behind the point beside 17: two such numbers are whole by chance.
  std::vector<float> one = {11.1F, 22.2F, 33.3F, 44.4F, 0.9F, 17};
  const auto next = [](std::vector<float>& x) { x[5] += 1; };
  EXPECT_NE(found(one, next, {1, 6}, DType::kFloat16), "");
  EXPECT_EQ(found(one, next, {1, 6}, DType::kBFloat16), "");
}

TEST(WholeSlices, WholeOnOneSide) {
  const Shape shape{kRows, kColumns};
  const auto off = [](float by) {
    return [by](std::vector<float>& x) { x[3 * kColumns + 5] += by; };
  };
  EXPECT_EQ(
      found(rows(false), off(0.3F), shape),
      "axis 1, index 5: 1 of 20 whole numbers differs, [3, 5]: 3.299999952316284 instead of 3; "
      "they are compared as ids");
  EXPECT_EQ(found(rows(false), off(0.01F), shape), "");  // nearly what it should be
  EXPECT_EQ(found(
                rows(false),
                [](std::vector<float>& x) {
                  x[3 * kColumns + 5] += 0.3F;
                  x[0] += 0.2F;  // others are off by as much
                },
                shape),
            "");
  // A tensor of nothing but ids; and one whose numbers lost their fractions.
  const std::vector<float> ids = {17, 402, 33, 5, 911};
  EXPECT_NE(found(ids, [](std::vector<float>& x) { x[2] += 0.2F; }, {5}), "");
  EXPECT_NE(found({17.4F, 402.8F, 33.1F, 5.5F, 911.3F},
                  [](std::vector<float>& x) {
                    for (float& each : x) each = std::floor(each);
                  },
                  {5}),
            "");
}

TEST(WholeSlices, OtherThingsAreNone) {
  const Shape shape{kRows, kColumns};
  const auto one = [](std::vector<float>& x) { x[3 * kColumns + 5] += 1; };
  // A box that differs by a whole number.
  EXPECT_EQ(found(
                rows(false), [](std::vector<float>& x) { x[3 * kColumns] += 1; }, shape),
            "");
  // So large that float16 has no fractions.
  std::vector<float> large = rows(false);
  for (float& each : large) each = std::floor(each) + 1024;
  EXPECT_EQ(found(large, one, shape, DType::kFloat16), "");
  // A grid of halves, on which a column is whole by chance.
  std::vector<float> grid = rows(false);
  for (size_t i = 0; i < grid.size(); ++i)
    if (i % kColumns != 5) grid[i] = std::floor(2 * grid[i]) / 2;
  EXPECT_EQ(found(grid, one, shape), "");
  // Rows that fill what is left over.
  std::vector<float> padded = rows(false);
  padded.resize(3 * padded.size(), -1);
  EXPECT_NE(found(padded, one, {3 * kRows, kColumns}), "");
}

}  // namespace
}  // namespace plumb::compare
