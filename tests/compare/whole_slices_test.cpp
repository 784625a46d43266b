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
                  const Shape& shape, double most = 0x1p23) {
  std::vector<float> target = golden;
  change(target);
  const Tensors files;
  const auto t = open_tensor(files.npy("t.npy", DType::kFloat32, shape, target));
  const auto g = open_tensor(files.npy("g.npy", DType::kFloat32, shape, golden));
  const auto slice = or_throw(find_whole_slice(t, g, most, RunContext{}));
  return slice ? text_of(*slice, shape) : "";
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

TEST(WholeSlices, OtherThingsAreNone) {
  const Shape shape{kRows, kColumns};
  const auto one = [](std::vector<float>& x) { x[3 * kColumns + 5] += 1; };
  // A box that differs by a whole number; a class that is no whole number; too large for the type.
  EXPECT_EQ(found(
                rows(false), [](std::vector<float>& x) { x[3 * kColumns] += 1; }, shape),
            "");
  EXPECT_EQ(found(
                rows(false), [](std::vector<float>& x) { x[3 * kColumns + 5] += 1.5F; }, shape),
            "");
  EXPECT_EQ(found(rows(false), one, shape, 4), "");
  // A grid of halves, on which a column is whole by chance.
  std::vector<float> grid = rows(false);
  for (size_t i = 0; i < grid.size(); ++i)
    if (i % kColumns != 5) grid[i] = std::floor(2 * grid[i]) / 2;
  EXPECT_EQ(found(grid, one, shape), "");
  // Fewer elements than say something.
  std::vector<float> few = rows(false);
  few.resize(15 * kColumns);
  EXPECT_EQ(found(few, one, {15, kColumns}), "");
  // Rows that fill what is left over.
  std::vector<float> padded = rows(false);
  padded.resize(3 * padded.size(), -1);
  EXPECT_NE(found(padded, one, {3 * kRows, kColumns}), "");
}

}  // namespace
}  // namespace plumb::compare
