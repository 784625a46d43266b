// SPDX-License-Identifier: Apache-2.0
#include "input/random.h"

#include "input/expected.h"

namespace plumb::input {
namespace {

// By python, in integers:
//   M = 2**64 - 1; h = 0xcbf29ce484222325
//   for c in b"x": h = (h ^ c) * 0x100000001b3 & M
//   def bits(i, seed):
//     z = ((seed ^ h) + (i + 1) * 0x9e3779b97f4a7c15) & M
//     z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M
//     z = (z ^ z >> 27) * 0x94d049bb133111eb & M
//     return z ^ z >> 31
constexpr uint64_t kBits[] = {0x67e6ccb15c6ecef8, 0xfa1db27cf70db3ab, 0xb01f8a6c1b67c739};

TEST(Random, SameBytesEverywhere) {
  const auto doubles = values_of<double>(*random_input(port_of("x", DType::kFloat64, {3}), 1));
  const auto floats = values_of<float>(*random_input(port_of("x", DType::kFloat32, {3}), 1));
  const auto halves = values_of<uint16_t>(*random_input(port_of("x", DType::kFloat16, {3}), 1));
  const auto integers = values_of<int64_t>(*random_input(port_of("x", DType::kInt64, {3}), 1));
  const auto truths = values_of<uint8_t>(*random_input(port_of("x", DType::kBool, {3}), 1));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(doubles[i], static_cast<double>(kBits[i] >> 11) / 9007199254740992.0);
    EXPECT_EQ(floats[i], static_cast<float>(kBits[i] >> 40) / 16777216.0f);
    EXPECT_EQ(integers[i], static_cast<int64_t>(kBits[i] >> 61));
    EXPECT_EQ(truths[i], kBits[i] >> 63);
    EXPECT_LT(halves[i], 0x3C00) << "below 1";
  }
}

TEST(Random, DependsOnSeedAndName) {
  const auto first = random_input(port_of("x", DType::kFloat32, {8}), 0)->bytes;
  EXPECT_EQ(first, random_input(port_of("x", DType::kFloat32, {8}), 0)->bytes);
  EXPECT_NE(first, random_input(port_of("x", DType::kFloat32, {8}), 1)->bytes);
  EXPECT_NE(first, random_input(port_of("y", DType::kFloat32, {8}), 0)->bytes);
}

TEST(Random, NeedsASize) {
  auto open = random_input(port_of("x", DType::kFloat32, {-1, 3}), 0);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().what, "how large should the input be?");
  EXPECT_FALSE(random_input({"x", {}, {1}, {}, "sequence"}, 0));
  EXPECT_FALSE(random_input(port_of("x", DType::kFloat32, {1 << 30, 1 << 30}), 0));
  // A model may declare what no machine should be made to fill.
  const auto huge = random_input(port_of("x", DType::kUint8, {kMostRandomBytes + 1}), 0);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().what, "the model asks for larger inputs than are made at random");
  EXPECT_EQ(huge.error().where,
            "input 'x' takes [536870913]: 536870913 bytes, at most 512 MiB for all inputs");
  EXPECT_FALSE(random_input(port_of("x", DType::kFloat32, {2}), 0, kMostRandomBytes - 7));
  EXPECT_TRUE(random_input(port_of("x", DType::kFloat32, {2}), 0, kMostRandomBytes - 8));
  EXPECT_FALSE(random_input(port_of("x", DType::kComplex64, {1}), 0));
}

}  // namespace
}  // namespace plumb::input
