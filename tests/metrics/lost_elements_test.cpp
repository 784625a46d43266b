// SPDX-License-Identifier: Apache-2.0
#include "metrics/lost_elements.h"

#include <gmock/gmock.h>

#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

std::string lost(const std::vector<float>& target, const std::vector<float>& golden,
                 const Shape& shape) {
  const Tensor t = tensor_of(DType::kFloat32, target), g = tensor_of(DType::kFloat32, golden);
  PairFacts facts = facts_of(t, g);
  if (!LostElements::may_be_in(facts)) return "none by the sums";
  LostElements elements(facts, shape);
  add(piece_of(t, g), elements);
  const auto worst = elements.worst();
  return worst ? elements.text(*worst) : "none";
}

float as_half(float value) { return float_from_half(half_from_float(value)); }

TEST(LostElements, OneOfADetection) {
  const std::vector<float> golden = {12.3F, 40.7F, 301.2F, 411.9F, 0.91F, 17};
  std::vector<float> target = golden;
  target[4] = 0;
  EXPECT_EQ(lost(target, golden, {1, 6}), "element [0, 4]: 0 instead of 0.91");
  target[2] += 0.01F;  // noise that is far smaller
  EXPECT_EQ(lost(target, golden, {6}), "element [4]: 0 instead of 0.91");
  target[2] += 0.4F;  // as large as what is lost
  EXPECT_EQ(lost(target, golden, {6}), "none");
  target = golden;
  target[5] = -17;
  target[4] = 0.5F;
  EXPECT_EQ(lost(target, golden, {2, 3}), "2 elements, the worst [1, 2]: -17 instead of 17");
}

// Scores beside boxes: most of each is left, and what boxes are off by says nothing about it.
TEST(LostElements, ColumnOfOtherUnits) {
  std::vector<float> golden, target;
  for (int i = 0; i < 5; ++i) {
    const auto k = static_cast<float>(i);
    for (const float value : {80 + 31 * k, 210 - 17 * k, 190 + 40 * k, 330 + 9 * k}) {
      golden.push_back(value);
      target.push_back(value + (i % 2 == 0 ? 0.2F : -0.15F));
    }
    golden.push_back(0.5F + 0.07F * k);
    target.push_back(golden.back() * 0.75F);
  }
  EXPECT_EQ(lost(target, golden, {5, 5}), "axis 1, index 4: 5 values");
  for (size_t i = 4; i < target.size(); i += 5) target[i] = golden[i] + 0.002F;
  EXPECT_EQ(lost(target, golden, {5, 5}), "none by the sums");
}

// What float16 flushes to zero below its smallest normal number, 6.1e-5: an operand, and then the
// sum.
TEST(LostElements, FlushedTwice) {
  std::vector<float> golden, target;
  for (int i = 0; i < 32; ++i) {
    golden.push_back(0.01F + 0.003F * static_cast<float>(i));
    target.push_back(as_half(golden.back()));
  }
  golden[5] = 0.00011F;
  target[5] = 0;
  EXPECT_EQ(lost(target, golden, {32}), "none");
  golden[5] = 0.00014F;
  EXPECT_EQ(lost(target, golden, {32}), "element [5]: 0 instead of 0.00014");
}

// Rounding to nearest leaves half a step of a value: what agrees to within a whole one may show
// that sums were rounded on their way, and one of them is near zero.
TEST(LostElements, HalfAStepIsRoundingAndMoreIsNoise) {
  const auto off_by = [](float small) {
    std::vector<float> golden, target;
    for (int i = 0; i < 20; ++i) {
      golden.insert(golden.end(),
                    {as_half(0.25F + 0.01F * static_cast<float>(i)), as_half(1.4e-4F)});
      const float step = i % 2 == 0 ? 0x1p-12F : -0x1p-12F;  // between numbers of float16 there
      target.insert(target.end(), {golden.end()[-2] + step, as_half(1.4e-4F + small)});
    }
    return lost(target, golden, {20, 2});
  };
  EXPECT_EQ(off_by(2.1e-4F), "none");
  EXPECT_THAT(off_by(1.3e-3F), testing::StartsWith("20 elements, the worst"));
}

// Nothing is left of a small sum of large operands, and the error points nowhere: noise.
TEST(LostElements, SmallColumnThatDrowns) {
  std::vector<float> golden, target;
  for (int i = 0; i < 8; ++i) {
    const float sign = i % 2 == 0 ? 1.0F : -1.0F, other = i % 4 < 2 ? 1.0F : -1.0F;
    for (const float value : {100 * sign, 90 * other, 110.0F}) {
      golden.push_back(value);
      target.push_back(value + 0.4F * other);
    }
    golden.push_back(0.2F * sign);
    target.push_back(0.2F * sign + 0.4F * other);
  }
  EXPECT_EQ(lost(target, golden, {8, 4}), "none");
}

// A box in float16 is off by a quarter of a pixel for being what it is: that excuses no score.
TEST(LostElements, RoundingOfALargeValueIsNoNoise) {
  std::vector<float> golden = {12.31F, 40.77F, 601.23F, 511.91F, 0.31F, 17}, target;
  for (const float value : golden) target.push_back(as_half(value));
  EXPECT_EQ(lost(target, golden, {1, 6}), "none by the sums");
  target[4] = 0;
  EXPECT_EQ(lost(target, golden, {1, 6}), "element [0, 4]: 0 instead of 0.31");
}

// Boxes that are off by a fifth of a pixel are no excuse for scores that are gone.
TEST(LostElements, WhatIsGoneIsNoNoise) {
  const float noise[] = {0.2F, -0.17F, 0.11F, -0.2F, 0.09F};
  std::vector<float> golden, target;
  for (size_t row = 0; row < 5; ++row) {
    for (size_t i = 0; i < 4; ++i) {
      golden.push_back(40.3F + 97.1F * static_cast<float>(row) + 13 * static_cast<float>(i));
      target.push_back(golden.back() + noise[(row + i) % 5]);
    }
    golden.push_back(0.37F + 0.02F * static_cast<float>(row));
    target.push_back(0);
  }
  EXPECT_EQ(lost(target, golden, {5, 5}), "5 elements, the worst [4, 4]: 0 instead of 0.45");
  for (size_t i = 4; i < 25; i += 5) target[i] = golden[i] + 0.1F * noise[i % 5];
  EXPECT_EQ(lost(target, golden, {5, 5}), "none by the sums");
  target[4] = 0;  // 0.37: below 2.5 times the noise of boxes, but much of what this column is
  EXPECT_EQ(lost(target, golden, {5, 5}), "axis 1, index 4: 5 values");
  golden[4] = 0.61F;
  EXPECT_EQ(lost(target, golden, {5, 5}), "element [0, 4]: 0 instead of 0.61");
}

// The others of a few may be close by chance.
TEST(LostElements, AFewShowLittleOfTheNoise) {
  std::vector<float> golden = {7e-4F, 5.13F, -3.37F, 4.71F}, target;
  for (const float value : golden) target.push_back(as_half(value));
  target[0] = as_half(0.0021F);
  EXPECT_EQ(lost(target, golden, {1, 4}), "none");
  target[0] = as_half(0.1F);
  EXPECT_EQ(lost(target, golden, {1, 4}), "element [0, 0]: 0.0999756 instead of 0.0007");
}

TEST(LostElements, NoiseOfOneSizeDrownsWhatIsSmall) {
  std::vector<float> golden = normal_values(1, 500), target = golden;
  const std::vector<float> noise = normal_values(2, 500);
  golden[7] = 1e-5F;
  golden[9] = 0;
  for (size_t i = 0; i < golden.size(); ++i) target[i] = golden[i] + 1e-3F * noise[i];
  EXPECT_EQ(lost(target, golden, {500}), "none");
}

TEST(LostElements, WhereHardlyAnythingAgreesNothingTells) {
  EXPECT_EQ(lost({500, 0}, {500, 0.9F}, {2}), "none");
  EXPECT_EQ(lost({500, 300, 0}, {500, 300, 0.9F}, {3}), "element [2]: 0 instead of 0.9");
  EXPECT_EQ(lost({500, 300, 0.9F}, {500, 300, 0}, {3}), "element [2]: 0.9 instead of 0");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(lost({500, 300, nan, 0}, {500, 300, nan, 0.9F}, {4}), "element [3]: 0 instead of 0.9");
  EXPECT_EQ(lost({500, 0, 0}, {500, 300, 0.9F}, {3}), "none by the sums");  // fails as a whole
}

}  // namespace
}  // namespace plumb::metrics
