// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/align.h"

#include <cstring>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::msaccucmp {
namespace {

using testing::ElementsAre;

// Elements count up from 0 in storage order.
Tensor counted(const char* layout, Shape shape, Shape original = {}) {
  Tensor tensor;
  tensor.layout = *layout_from_name(layout);
  tensor.count = *element_count(shape);
  tensor.shape = std::move(shape);
  tensor.original = std::move(original);
  std::vector<float> values(static_cast<size_t>(tensor.count));
  std::iota(values.begin(), values.end(), 0.f);
  const auto bytes = std::as_bytes(std::span(values));
  tensor.owned = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  dump::Entry entry;
  entry.memory = tensor.owned->data();
  entry.parts.push_back({});
  entry.info.emplace();
  entry.info->shape = tensor.shape;
  entry.info->size_bytes = tensor.owned->size();
  tensor.entry = std::make_shared<const dump::Entry>(std::move(entry));
  return tensor;
}

std::vector<float> values_of(const View& view) {
  std::vector<float> values(static_cast<size_t>(view.count));
  const auto elements = read_elements(view);
  std::memcpy(values.data(), elements->data(), elements->size());
  return values;
}

struct AlignCase {
  const char* what;
  Tensor target, golden;
  Description description;
  Shape expected;  // shape of the row; empty: refused
  Code code = Code::kNone;
};

TEST(Align, ShapesAndRefusals) {
  const AlignCase kCases[] = {
      {"ND stays flat", counted("ND", {2, 3}), counted("ND", {2, 3}), {"ND", {}}, {6}},
      {"ND of other shape", counted("ND", {2, 3}), counted("ND", {3, 2}), {"ND", {}}, {6}},
      {"ND longer is cut", counted("ND", {10}), counted("ND", {9}), {"ND", {}}, {9, 1, 1, 1}},
      {"ND shorter", counted("ND", {8}), counted("ND", {9}), {"ND", {}}, {}, Code::kShape},
      {"scalar", counted("ND", {1, 1}), counted("ND", {}), {"NCHW", {}}, {1}},
      {"channels cut",
       counted("NC1HWC0", {1, 1, 2, 2, 16}),
       counted("ND", {1, 3, 2, 2}),
       {"NCHW", {}},
       {1, 3, 2, 2}},
      {"to NHWC",
       counted("NC1HWC0", {1, 1, 2, 3, 16}),
       counted("ND", {1, 2, 3, 5}),
       {"NHWC", {}},
       {1, 2, 3, 5}},
      {"more channels than stored",
       counted("NC1HWC0", {1, 1, 2, 2, 16}),
       counted("ND", {1, 17, 2, 2}),
       {"NCHW", {}},
       {},
       Code::kShape},
      {"fractal",
       counted("FRACTAL_NZ", {2, 1, 16, 16}, {5, 20}),
       counted("ND", {5, 20}),
       {"ND", {}},
       {5, 20}},
      {"fractal of another shape",
       counted("FRACTAL_NZ", {2, 1, 16, 16}, {50, 20}),
       counted("ND", {50, 20}),
       {"ND", {}},
       {},
       Code::kNzShape},
      {"unknown format", counted("ND", {2}), counted("ND", {2}), {"NOPE", {}}, {}, Code::kFormat},
      {"not converted",
       counted("NCHW", {1, 2, 3, 4}),
       counted("ND", {1, 2, 3, 4}),
       {"HWCN", {}},
       {},
       Code::kFormat},
      {"4-D name of lower rank",
       counted("NCHW", {2, 3}),
       counted("ND", {2, 3}),
       {"NHWC", {}},
       {2, 3}},
      {"squeezed", counted("NCHW", {2, 3}), counted("ND", {2, 1, 3}), {"NHWC", {}}, {2, 3}},
      {"empty", counted("ND", {0, 4}), counted("ND", {0, 4}), {"ND", {}}, {0, 4}},
  };
  for (const AlignCase& c : kCases) {
    auto aligned = align(c.target, c.golden, c.description, {});
    if (c.code != Code::kNone) {
      ASSERT_FALSE(aligned) << c.what;
      EXPECT_EQ(aligned.fault().code, c.code) << c.what;
    } else {
      ASSERT_TRUE(aligned) << c.what << ": " << aligned.fault().error.what;
      EXPECT_EQ(aligned->target.shape, c.expected) << c.what;
      EXPECT_EQ(aligned->target.count, aligned->golden.count) << c.what;
    }
  }
}

TEST(Align, ElementsComeInTheGoldenOrder) {
  // C0 = 2: element (c, h, w) lies at c/2 * 8 + h * 4 + w * 2 + c % 2.
  auto aligned =
      align(counted("NC1HWC0", {1, 2, 2, 2, 2}), counted("ND", {1, 3, 2, 2}), {"NCHW", {}}, {});
  EXPECT_THAT(values_of(aligned->target), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14));
  EXPECT_FALSE(aligned->truncated);
  EXPECT_TRUE(align(counted("ND", {10}), counted("ND", {9}), {"ND", {}}, {})->truncated);
  // Not all that is cut off is padding: the tensor has four channels.
  EXPECT_TRUE(align(counted("NC1HWC0", {1, 2, 2, 2, 2}, {1, 4, 2, 2}), counted("ND", {1, 3, 2, 2}),
                    {"NCHW", {}}, {})
                  ->truncated);
}

// The rule says NHWC, but the golden file turns out to be NCHW.
TEST(Align, AxisOrderIsTakenFromTheGoldenShape) {
  auto aligned = align(counted("NC1HWC0", {1, 1, 2, 5, 16}, {1, 2, 5, 3}),
                       counted("ND", {1, 3, 2, 5}), {"NHWC", {}}, {});
  EXPECT_EQ(aligned->target.shape, (Shape{1, 3, 2, 5}));
}

TEST(Restored, WithoutPaddingWhereItIsKnownHow) {
  EXPECT_EQ(restored(counted("NC1HWC0", {1, 1, 2, 2, 16}, {1, 3, 2, 2})).shape,
            (Shape{1, 3, 2, 2}));
  EXPECT_EQ(restored(counted("FRACTAL_NZ", {2, 1, 16, 16}, {5, 20})).shape, (Shape{5, 20}));
  EXPECT_EQ(restored(counted("FRACTAL_NZ", {2, 1, 16, 16}, {99, 20})).shape, (Shape{2, 1, 16, 16}));
  EXPECT_EQ(restored(counted("NC1HWC0", {1, 1, 2, 2, 16}, {3, 2, 2})).shape,
            (Shape{1, 1, 2, 2, 16}));
  EXPECT_EQ(restored(counted("ND", {4, 4}, {4, 4})).shape, (Shape{4, 4}));
}

}  // namespace
}  // namespace plumb::msaccucmp
