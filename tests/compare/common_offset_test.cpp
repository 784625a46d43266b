// SPDX-License-Identifier: Apache-2.0
#include "compare/common_offset.h"

#include <functional>

#include <gtest/gtest.h>

#include "compare/tensors.h"

namespace plumb::compare {
namespace {

constexpr int64_t kChannels = 8, kPlaces = 25;
const Shape kMap{1, kChannels, 5, 5};

std::vector<int8_t> codes() {
  std::vector<int8_t> values;
  for (int i = 0; i < kChannels * kPlaces; ++i)
    values.push_back(static_cast<int8_t>(i * 37 % 200 - 100));
  return values;
}

std::string found(const std::vector<int8_t>& golden,
                  const std::function<int(int64_t position)>& step, bool is_picture = false,
                  const Shape& shape = kMap) {
  std::vector<int8_t> target = golden;
  for (size_t i = 0; i < target.size(); ++i)
    target[i] =
        static_cast<int8_t>(std::clamp(target[i] + step(static_cast<int64_t>(i)), -128, 127));
  const Tensors files;
  const auto t = open_tensor(files.npy("t.npy", DType::kInt8, shape, target));
  const auto g = open_tensor(files.npy("g.npy", DType::kInt8, shape, golden));
  const auto offset = or_throw(find_common_offset(t, g, is_picture, RunContext{}));
  return offset ? text_of(*offset) : "";
}

TEST(CommonOffset, AChannelOrAll) {
  EXPECT_EQ(found(codes(), [](int64_t i) { return i / kPlaces == 3 ? 1 : 0; }),
            "axis 1, index 3: 25 of 25 values are higher than golden's: rounding has no direction");
  EXPECT_EQ(found(codes(), [](int64_t i) { return i % 5 == 4 ? -1 : 0; }),
            "axis 3, index 4: 40 of 40 values are lower than golden's: rounding has no direction");
  EXPECT_EQ(found(codes(), [](int64_t) { return 1; }),
            "200 of 200 values are higher than golden's: rounding has no direction");
}

TEST(CommonOffset, ValuesAtTheEndStayThere) {
  std::vector<int8_t> golden = codes();
  for (size_t i = 3 * kPlaces; i < 3 * kPlaces + 15; ++i) golden[i] = 127;
  EXPECT_EQ(found(golden, [](int64_t i) { return i / kPlaces == 3 ? 1 : 0; }),
            "axis 1, index 3: 10 of 10 values are higher than golden's: rounding has no direction");
}

TEST(CommonOffset, RoundingHasNone) {
  EXPECT_EQ(found(codes(), [](int64_t i) { return i * 7919 % 5 == 0 ? (i % 3 == 0 ? 1 : -1) : 0; }),
            "");
  EXPECT_EQ(found(codes(), [](int64_t i) { return i * 7919 % 3 == 0 ? 1 : 0; }), "");
  // All of a channel, in both directions.
  EXPECT_EQ(found(codes(), [](int64_t i) { return i / kPlaces == 3 ? (i % 2 == 0 ? 1 : -1) : 0; }),
            "");
}

TEST(CommonOffset, OneValueIsRoundedOnce) {
  std::vector<int8_t> golden = codes();
  std::fill_n(golden.begin() + 3 * kPlaces, kPlaces, int8_t{3});
  EXPECT_EQ(found(golden, [](int64_t i) { return i / kPlaces == 3 ? 1 : 0; }), "");
}

// Behind a Relu most codes are stuck; a few live ones of a channel have one direction by chance.
TEST(CommonOffset, FewLiveCodesAreChance) {
  std::vector<int8_t> golden(kChannels * kPlaces, int8_t{-128});
  for (int64_t i = 0; i < std::ssize(golden); i += 6)
    golden[static_cast<size_t>(i)] = static_cast<int8_t>(i % 100);
  EXPECT_EQ(found(golden,
                  [](int64_t i) {
                    return i % 6 != 0 ? 0 : i / kPlaces == 3 || i % 12 == 0 ? -1 : 1;
                  }),
            "");
}

TEST(CommonOffset, OfPicturesOnlyColours) {
  const Shape picture{1, 3, 5, 13};
  std::vector<int8_t> golden = codes();
  golden.resize(3 * 5 * 13);
  const auto row = [](int64_t i) { return i / 13 % 5 == 2 ? 1 : 0; };
  EXPECT_EQ(found(golden, row, true, picture), "");
  EXPECT_NE(found(golden, row, false, picture), "");
  EXPECT_EQ(found(
                golden, [](int64_t i) { return i / 65 == 2 ? 1 : 0; }, true, picture),
            "axis 1, index 2: 65 of 65 values are higher than golden's: rounding has no direction");
}

}  // namespace
}  // namespace plumb::compare
