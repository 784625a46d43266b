// SPDX-License-Identifier: Apache-2.0
#include "compare/mask_values.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace plumb::compare {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

metrics::PairPiece piece_of(const std::vector<float>& target, const std::vector<float>& golden) {
  return {DType::kFloat32, reinterpret_cast<const std::byte*>(target.data()), DType::kFloat32,
          reinterpret_cast<const std::byte*>(golden.data()), std::ssize(golden)};
}

std::optional<MaskValues> mask_of(const std::vector<float>& golden) {
  const metrics::PairSums sums = metrics::pair_sums(piece_of(golden, golden), {});
  if (!may_have_mask(sums)) return std::nullopt;
  return find_mask(sums, std::vector<double>(golden.begin(), golden.end()));
}

TEST(MaskValues, OfTwoValues) {
  EXPECT_TRUE(mask_of({0, kLowest}));
  EXPECT_TRUE(mask_of({0, 0, -65504, 0, -65504}));
  EXPECT_TRUE(mask_of({0, -10000, 0, 0}));
  EXPECT_FALSE(mask_of({0, 1, 0, 1}));          // ones are numbers
  EXPECT_FALSE(mask_of({0, -100, 0, 0}));       // so are hundreds
  EXPECT_FALSE(mask_of({0.5F, 70000, 1, -1}));  // one large number among others is no mask
  EXPECT_FALSE(mask_of({kLowest, kLowest}));    // nothing is left beside it
  EXPECT_FALSE(mask_of({0, 0, 0}));
  EXPECT_FALSE(mask_of({0, 0, 0, 123456.7F}));  // masks lower values
  EXPECT_FALSE(mask_of({0.5F, 70000, 70000}));
}

// Half of the gates are open, a few nearly closed: what lowers nothing is no mask.
TEST(MaskValues, OfSmallNumbersAreNone) {
  for (const float extreme : {1.0F, -1.0F, 6.0F, -15.0F, -16.0F, -100.0F}) {
    std::vector<float> values(40, 0);
    for (size_t i = 0; i < 20; ++i) values[i] = extreme;
    values[25] = extreme / 20;
    EXPECT_EQ(mask_of(values).has_value(), extreme <= -16) << extreme;
  }
}

TEST(MaskValues, AgreeAsFarAsTypesHoldThem) {
  const auto agree = [](float target, float golden) {
    return mask_of({0, golden, 0, golden})->agree(target, golden);
  };
  EXPECT_TRUE(agree(-65504, kLowest));
  EXPECT_TRUE(agree(-1e9F, -65504));
  EXPECT_TRUE(agree(-9984, -10000));  // as bfloat16 has it
  EXPECT_FALSE(agree(-5045, -5000));
  EXPECT_FALSE(agree(-90000, -70000));
  EXPECT_FALSE(agree(-INFINITY, kLowest));  // nothing says that target's type ends before
  EXPECT_FALSE(agree(NAN, kLowest));
}

TEST(MaskValues, InfinitiesStandForWhatIsOutOfRange) {
  const auto agree = [](DType type, float target, float golden) {
    auto mask = mask_of({0, golden, 0, golden});
    mask->note_type_of_target(type);
    return mask->agree(target, golden);
  };
  EXPECT_TRUE(agree(DType::kFloat16, -INFINITY, kLowest));
  EXPECT_TRUE(agree(DType::kFloat16, -INFINITY, -1e9F));
  EXPECT_TRUE(agree(DType::kFloat16, -INFINITY, -65504));  // scores were added
  EXPECT_FALSE(agree(DType::kFloat16, -INFINITY, -10000));
  EXPECT_FALSE(agree(DType::kFloat16, INFINITY, kLowest));
  EXPECT_FALSE(agree(DType::kFloat16, NAN, kLowest));
  EXPECT_TRUE(agree(DType::kFloat32, -INFINITY, kLowest));
  EXPECT_FALSE(agree(DType::kFloat32, -INFINITY, -1e9F));
  EXPECT_FALSE(agree(DType::kFloat32, -INFINITY, -65504));
}

TEST(MaskValues, BesideInfinitiesOfTarget) {
  const double lowest = kLowest;
  auto mask = find_mask_beside_infinities(std::vector<double>{0.5, lowest, -2, lowest});
  ASSERT_TRUE(mask);
  mask->note_type_of_target(DType::kFloat16);
  EXPECT_TRUE(mask->agree(-INFINITY, lowest));
  EXPECT_FALSE(find_mask_beside_infinities(std::vector<double>{0.5, -1e4, -2, -1e4}));
  EXPECT_FALSE(find_mask_beside_infinities(std::vector<double>{0.5, -lowest, -2, -lowest}));
  EXPECT_FALSE(find_mask_beside_infinities(std::vector<double>{0.5, 1, -2, -INFINITY}));
  EXPECT_FALSE(find_mask_beside_infinities({}));
}

TEST(MaskValues, MarksOnOneSideAreCounted) {
  const std::vector<float> golden = {0, kLowest, 0, kLowest, kLowest, kLowest},
                           target = {0, -65504, -65504, 0, INFINITY, -20000};
  auto mask = mask_of(golden);
  ASSERT_TRUE(mask);
  const MaskedPiece masked(piece_of(target, golden), *mask);
  EXPECT_EQ(masked.marks().agree, 1);
  EXPECT_EQ(masked.marks().only_in_target, 1);
  EXPECT_EQ(masked.marks().only_in_golden, 2);
  const metrics::PairSums sums = metrics::pair_sums(masked.piece(), {});
  EXPECT_EQ(sums.same_inf, 1);
  EXPECT_EQ(sums.inf_mismatch, 4);
  const std::vector<float> half = {0, -INFINITY, 0, -INFINITY, -INFINITY, -65504};
  mask->note_type_of_target(DType::kFloat16);
  const MaskedPiece in_half(piece_of(half, golden), *mask);
  EXPECT_EQ(in_half.marks().agree, 4);
  EXPECT_EQ(in_half.marks().infinite, 3);
}

}  // namespace
}  // namespace plumb::compare
