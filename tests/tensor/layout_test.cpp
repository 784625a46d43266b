// SPDX-License-Identifier: Apache-2.0
//
// Names, the rules by which shapes and axis orders are resolved, and what hostile shapes get.
#include "tensor/layout/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/layout_testing.h"

namespace plumb {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kHuge = INT64_MAX;

// The numbering of the dump header's OutputFormat.
constexpr std::pair<int, std::string_view> kNames[] = {
    {0, "NCHW"},
    {1, "NHWC"},
    {2, "ND"},
    {3, "NC1HWC0"},
    {4, "FRACTAL_Z"},
    {5, "NC1C0HWPAD"},
    {6, "NHWC1C0"},
    {7, "FSR_NCHW"},
    {8, "FRACTAL_DECONV"},
    {9, "C1HWNC0"},
    {10, "FRACTAL_DECONV_TRANSPOSE"},
    {11, "FRACTAL_DECONV_SP_STRIDE_TRANS"},
    {12, "NC1HWC0_C04"},
    {13, "FRACTAL_Z_C04"},
    {14, "CHWN"},
    {15, "FRACTAL_DECONV_SP_STRIDE8_TRANS"},
    {16, "HWCN"},
    {17, "NC1KHKWHWC0"},
    {18, "BN_WEIGHT"},
    {19, "FILTER_HWCK"},
    {20, "HASHTABLE_LOOKUP_LOOKUPS"},
    {21, "HASHTABLE_LOOKUP_KEYS"},
    {22, "HASHTABLE_LOOKUP_VALUE"},
    {23, "HASHTABLE_LOOKUP_OUTPUT"},
    {24, "HASHTABLE_LOOKUP_HITS"},
    {25, "C1HWNCoC0"},
    {26, "MD"},
    {27, "NDHWC"},
    {28, "FRACTAL_ZZ"},
    {29, "FRACTAL_NZ"},
    {30, "NCDHW"},
    {31, "DHWCN"},
    {32, "NDC1HWC0"},
    {33, "FRACTAL_Z_3D"},
    {34, "CN"},
    {35, "NC"},
    {36, "DHWNC"},
    {37, "FRACTAL_Z_3D_TRANSPOSE"},
    {38, "FRACTAL_ZN_LSTM"},
    {39, "FRACTAL_Z_G"},
    {40, "RESERVED"},
    {41, "ALL"},
    {42, "NULL"},
    {43, "ND_RNN_BIAS"},
    {44, "FRACTAL_ZN_RNN"},
    {45, "YUV"},
    {46, "YUV_A"},
    {47, "NCL"},
    {48, "FRACTAL_Z_WINO"},
    {49, "C1HWC0"},
    {255, "MAX"},
};

TEST(Layout, Names) {
  for (auto [number, name] : kNames) {
    EXPECT_EQ(name_of(Layout{number}), name);
    ASSERT_TRUE(layout_from_name(name)) << name;
    EXPECT_EQ(*layout_from_name(name), Layout{number});
  }
  EXPECT_EQ(name_of(Layout{77}), "format 77");
  EXPECT_EQ(name_of(Layout{-1}), "format -1");
  EXPECT_EQ(name_of(kPlainLayout), "ND");
  EXPECT_FALSE(layout_from_name("nchw"));
  EXPECT_FALSE(layout_from_name(""));
  EXPECT_EQ(layout_from_name("NYUV"), Layout{45});
  EXPECT_EQ(layout_from_name("LOOKUP_KEYS"), Layout{21});
}

TEST(Layout, OnlyConvertibleOnesAreOffered) {
  EXPECT_THAT(layout_names(), Contains("NC1HWC0"));
  EXPECT_THAT(layout_names(), Contains("FRACTAL_Z_3D"));
  EXPECT_THAT(layout_names(), Not(Contains("FRACTAL_ZZ")));
  for (auto [number, name] : kNames) {
    const auto names = layout_names();
    const bool offered = std::find(names.begin(), names.end(), name) != names.end();
    const auto map = plain_map(Layout{number}, {2, 3}, Shape{2, 3});
    const bool refused =
        !map && map.error().what == "layout " + std::string(name) + " cannot be converted";
    EXPECT_NE(offered, refused) << name;
    EXPECT_EQ(offered, stored_as(Layout{number}, {2, 3}, "", 16).ok() ||
                           stored_as(Layout{number}, {2, 3, 4}, "", 16).ok() ||
                           stored_as(Layout{number}, {2, 3, 4, 5}, "", 16).ok() ||
                           stored_as(Layout{number}, {2, 3, 4, 5, 6}, "", 16).ok())
        << name;
  }
  EXPECT_FALSE(plain_map(Layout{77}, {2, 3}, Shape{2, 3}));
}

TEST(Layout, ShapesTellBlocks) {
  EXPECT_EQ(blocked_layout({1, 1, 6, 6, 16}, {1, 8, 6, 6}), layout("NC1HWC0"));
  EXPECT_EQ(blocked_layout({2, 1, 16, 16}, {5, 20}), layout("FRACTAL_NZ"));
  EXPECT_EQ(blocked_layout({1, 8, 6, 6}, {1, 8, 6, 6}), std::nullopt);
  EXPECT_EQ(blocked_layout({1, 2, 6, 6, 16}, {1, 8, 6, 6}), std::nullopt);  // a block too many
}

TEST(Layout, IsPlain) {
  for (std::string_view name : {"ND", "NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN",
                                "DHWNC", "NCL", "NC", "CN"})
    EXPECT_TRUE(is_plain(layout(name))) << name;
  for (std::string_view name : {"NC1HWC0", "FRACTAL_NZ", "FRACTAL_Z", "NHWC1C0", "MD", "MAX"})
    EXPECT_FALSE(is_plain(layout(name))) << name;
  EXPECT_FALSE(is_plain(Layout{77}));
}

TEST(IndexMap, Identity) {
  EXPECT_TRUE(plain_map(layout("ND"), {2, 3, 4}, {})->is_identity());
  EXPECT_TRUE(plain_map(layout("ND"), {}, {})->is_identity());
  EXPECT_TRUE(plain_map(layout("ND"), {24}, Shape{2, 3, 4})->is_identity());
  EXPECT_TRUE(plain_map(layout("NHWC"), {1, 1, 1, 7}, {}, "NCHW")->is_identity());
  EXPECT_TRUE(
      plain_map(layout("NHWC"), {2, 0, 3, 4}, {}, "NCHW")->is_identity());  // nothing to move
  EXPECT_FALSE(plain_map(layout("NHWC"), {1, 2, 3, 4}, {}, "NCHW")->is_identity());
  // 32 channels of one pixel lie in order, whatever the blocks.
  EXPECT_TRUE(plain_map(layout("NC1HWC0"), {1, 2, 1, 1, 16}, {})->is_identity());
  EXPECT_TRUE(plain_map(layout("NC1HWC0"), {1, 2, 1, 1, 16}, Shape{1, 20, 1, 1})->is_identity());
  EXPECT_FALSE(plain_map(layout("NC1HWC0"), {2, 2, 1, 1, 16}, Shape{2, 20, 1, 1})->is_identity());
  EXPECT_FALSE(plain_map(layout("NC1HWC0"), {1, 2, 1, 2, 16}, {})->is_identity());
  EXPECT_FALSE(strided_map({2, 3}, {3, 1}, 1, 7)->is_identity());
  EXPECT_TRUE(strided_map({2, 3}, {3, 1}, 0, 7)->is_identity());
  EXPECT_FALSE(strided_map({2, 3}, {0, 1}, 0, 7)->is_identity());
}

TEST(IndexMap, Strides) {
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(column_major_strides({2, 3, 4}), (Shape{1, 2, 6}));
  EXPECT_EQ(row_major_strides({}), Shape{});
  EXPECT_EQ(row_major_strides({2, 0, 4}), (Shape{4, 4, 1}));
}

TEST(IndexMap, StridedStaysInside) {
  EXPECT_TRUE(strided_map({2, 3}, {3, 1}, 0, 6));
  EXPECT_FALSE(strided_map({2, 3}, {3, 1}, 0, 5));
  EXPECT_FALSE(strided_map({2, 3}, {3, 1}, 1, 6));
  EXPECT_TRUE(strided_map({2, 3}, {-3, 1}, 3, 6));
  EXPECT_FALSE(strided_map({2, 3}, {-3, 1}, 2, 6));
  EXPECT_FALSE(strided_map({2, 3}, {3, 1}, -1, 6));
  EXPECT_TRUE(strided_map({1000, 1000}, {0, 0}, 0, 1));  // one value, broadcast
  EXPECT_FALSE(strided_map({1000, 1000}, {0, 0}, 0, 0));
  EXPECT_TRUE(strided_map({}, {}, 0, 1));
  EXPECT_FALSE(strided_map({}, {}, 1, 1));
  EXPECT_FALSE(strided_map({2, 3}, {1}, 0, 6));
  EXPECT_TRUE(strided_map({0, 3}, {kHuge, kHuge}, kHuge, 0));  // nothing is read
  EXPECT_FALSE(strided_map({3, 3}, {kHuge, kHuge}, 0, kHuge));
  EXPECT_FALSE(strided_map({2, 2}, {kHuge, kHuge}, 0, kHuge));
  EXPECT_FALSE(strided_map({3}, {INT64_MIN}, 0, kHuge));
  EXPECT_FALSE(strided_map({kHuge, kHuge}, {0, 0}, 0, 1));
  EXPECT_FALSE(strided_map({-1}, {1}, 0, 1));
  EXPECT_THAT(strided_map({2, 3}, {3, 1}, 0, 5).error().where,
              HasSubstr("it reaches from 0 to 5, 5 elements are stored"));
}

struct MapCase {
  std::string_view name;
  std::string_view layout;
  Shape stored;
  std::optional<Shape> logical;
  std::string_view order;
  std::optional<Shape> shape;      // of the map
  std::string_view what, where{};  // else parts of the error
  int groups = 1;
};

const MapCase kMapCases[] = {
    {"scalar", "ND", {}, {}, "", Shape{}, ""},
    {"scalar, logical [1]", "ND", {}, Shape{1}, "", Shape{1}, ""},
    {"empty", "ND", {0, 5}, {}, "", Shape{0, 5}, ""},
    {"reshaped", "ND", {6, 4}, Shape{2, 3, 4}, "", Shape{2, 3, 4}, ""},
    {"reshaped to fewer", "ND", {6, 4}, Shape{24}, "", Shape{24}, ""},
    {"ones moved", "ND", {1, 24}, Shape{24, 1}, "", Shape{24, 1}, ""},
    {"same rank, other axes",
     "ND",
     {6, 4},
     Shape{4, 6},
     "",
     {},
     "does not fit",
     "layout ND, stored [6, 4], logical [4, 6]: the axes differ in length"},
    {"other count", "ND", {6, 4}, Shape{5, 5, 1}, "", {}, "does not fit", "element counts differ"},
    {"ND as ND", "ND", {6, 4}, {}, "ND", Shape{6, 4}, ""},
    {"ND has no letters",
     "ND",
     {2, 3, 4, 5},
     {},
     "NHWC",
     {},
     "layout ND does not name its axes",
     "shape [2, 3, 4, 5] was wanted as NHWC"},
    {"a vector needs none", "ND", {1, 7}, {}, "NHWC", Shape{1, 7}, ""},
    {"a scalar needs none", "ND", {}, {}, "NHWC", Shape{}, ""},

    {"as stored", "NHWC", {2, 4, 5, 3}, Shape{2, 4, 5, 3}, "", Shape{2, 4, 5, 3}, ""},
    {"recorded as NCHW", "NHWC", {2, 4, 5, 3}, Shape{2, 3, 4, 5}, "", Shape{2, 3, 4, 5}, ""},
    {"recorded as HWCN", "NCHW", {2, 3, 4, 5}, Shape{4, 5, 3, 2}, "", Shape{4, 5, 3, 2}, ""},
    {"asked for", "NHWC", {2, 4, 5, 3}, {}, "NCHW", Shape{2, 3, 4, 5}, ""},
    {"asked for CHWN", "NHWC", {2, 4, 5, 3}, {}, "CHWN", Shape{3, 4, 5, 2}, ""},
    {"recorded, then permuted",
     "NHWC",
     {2, 4, 5, 3},
     Shape{2, 3, 4, 5},
     "HWCN",
     Shape{4, 5, 3, 2},
     ""},
    {"of lower rank", "NCHW", {1, 3, 4, 5}, Shape{3, 4, 5}, "", Shape{3, 4, 5}, ""},
    {"of lower rank, permuted",
     "NCHW",
     {1, 3, 4, 5},
     Shape{3, 4, 5},
     "NHWC",
     Shape{1, 4, 5, 3},
     ""},
    {"not 4-D is ND", "NCHW", {6, 4}, Shape{24}, "", Shape{24}, ""},
    {"not 4-D has no letters", "NHWC", {6, 4}, {}, "NCHW", {}, "layout ND does not name its axes"},
    {"not its letters",
     "NCHW",
     {1, 3, 4, 5},
     {},
     "NCDHW",
     {},
     "axis order does not fit",
     "order NCDHW for layout NCHW, whose axes are N, C, H, W"},
    {"twice the same letter", "NCHW", {1, 3, 4, 5}, {}, "NCCW", {}, "axis order does not fit"},
    {"no permutation",
     "NCHW",
     {1, 3, 4, 5},
     Shape{1, 6, 2, 5},
     "",
     {},
     "does not fit",
     "the axes differ in length"},
    {"no permutation, order", "NCHW", {1, 3, 4, 5}, Shape{1, 6, 2, 5}, "NHWC", {}, "does not fit"},
    {"5-D", "NDHWC", {2, 3, 4, 5, 6}, {}, "NCDHW", Shape{2, 6, 3, 4, 5}, ""},
    {"5-D recorded", "DHWCN", {3, 4, 5, 6, 2}, Shape{2, 3, 4, 5, 6}, "", Shape{2, 3, 4, 5, 6}, ""},
    {"DHWNC", "DHWNC", {3, 4, 5, 2, 6}, {}, "NCDHW", Shape{2, 6, 3, 4, 5}, ""},
    {"NC to CN", "NC", {2, 3}, {}, "CN", Shape{3, 2}, ""},
    {"CN recorded as NC", "CN", {3, 2}, Shape{2, 3}, "", Shape{2, 3}, ""},
    {"NC to NHWC", "NC", {2, 3}, {}, "NHWC", {}, "axis order does not fit"},
    {"NC vector to NHWC", "NC", {1, 3}, {}, "NHWC", Shape{1, 3}, ""},
    {"NCL", "NCL", {2, 3, 4}, {}, "NCL", Shape{2, 3, 4}, ""},

    {"5HD alone is padded", "NC1HWC0", {1, 2, 3, 4, 16}, {}, "", Shape{1, 32, 3, 4}, ""},
    {"5HD alone, ordered", "NC1HWC0", {1, 2, 3, 4, 16}, {}, "NHWC", Shape{1, 3, 4, 32}, ""},
    {"5HD of NCHW", "NC1HWC0", {1, 2, 3, 4, 16}, Shape{1, 20, 3, 4}, "", Shape{1, 20, 3, 4}, ""},
    {"5HD of NHWC", "NC1HWC0", {1, 2, 3, 4, 16}, Shape{1, 3, 4, 20}, "", Shape{1, 3, 4, 20}, ""},
    {"5HD of NHWC as NCHW",
     "NC1HWC0",
     {1, 2, 3, 4, 16},
     Shape{1, 3, 4, 20},
     "NCHW",
     Shape{1, 20, 3, 4},
     ""},
    {"5HD of HWCN as NCHW",
     "NC1HWC0",
     {7, 2, 3, 4, 16},
     Shape{3, 4, 20, 7},
     "NCHW",
     Shape{7, 20, 3, 4},
     ""},
    {"5HD as ND", "NC1HWC0", {1, 2, 3, 4, 16}, Shape{1, 3, 4, 20}, "ND", Shape{1, 3, 4, 20}, ""},
    {"NCHW wins", "NC1HWC0", {2, 1, 5, 5, 16}, Shape{2, 5, 5, 5}, "NHWC", Shape{2, 5, 5, 5}, ""},
    {"5HD of N, C", "NC1HWC0", {3, 2, 1, 1, 16}, Shape{3, 20}, "", Shape{3, 20}, ""},
    {"5HD of N, C in full",
     "NC1HWC0",
     {3, 2, 1, 1, 16},
     Shape{3, 20},
     "NHWC",
     Shape{3, 1, 1, 20},
     ""},
    {"5HD of N, C, H", "NC1HWC0", {3, 2, 5, 1, 16}, Shape{3, 20, 5}, "", Shape{3, 20, 5}, ""},
    {"5HD of C", "NC1HWC0", {1, 2, 1, 1, 16}, Shape{20}, "", Shape{20}, ""},
    {"5HD of C, H, W", "NC1HWC0", {1, 2, 5, 6, 16}, Shape{20, 5, 6}, "", Shape{20, 5, 6}, ""},
    {"5HD of a scalar", "NC1HWC0", {1, 1, 1, 1, 16}, Shape{}, "", Shape{}, ""},
    {"channels just too many",
     "NC1HWC0",
     {1, 2, 3, 4, 16},
     Shape{1, 33, 3, 4},
     "",
     {},
     "does not fit",
     "layout NC1HWC0, stored [1, 2, 3, 4, 16], logical [1, 33, 3, 4]: in no axis order"},
    {"channels just too few",
     "NC1HWC0",
     {1, 2, 3, 4, 16},
     Shape{1, 16, 3, 4},
     "",
     {},
     "does not fit"},
    {"channels just enough",
     "NC1HWC0",
     {1, 2, 3, 4, 16},
     Shape{1, 17, 3, 4},
     "",
     Shape{1, 17, 3, 4},
     ""},
    {"rank too high", "NC1HWC0", {1, 2, 3, 4, 16}, Shape{1, 1, 20, 3, 4}, "", {}, "does not fit"},
    {"no 5HD at all",
     "NC1HWC0",
     {1, 2, 3, 4},
     {},
     "",
     {},
     "stored shape does not fit its layout",
     "(NC1HWC0)"},
    {"blocks of nothing", "NC1HWC0", {1, 2, 3, 4, 0}, {}, "", {}, "does not fit its layout"},
    {"no channels", "NC1HWC0", {1, 0, 3, 4, 16}, Shape{1, 0, 3, 4}, "", Shape{1, 0, 3, 4}, ""},
    {"no images", "NC1HWC0", {0, 2, 3, 4, 16}, {}, "NHWC", Shape{0, 3, 4, 32}, ""},
    {"C04", "NC1HWC0_C04", {1, 1, 3, 4, 4}, Shape{1, 3, 3, 4}, "", Shape{1, 3, 3, 4}, ""},
    {"groups mean nothing here",
     "NC1HWC0",
     {1, 2, 3, 4, 16},
     Shape{1, 20, 3, 4},
     "",
     Shape{1, 20, 3, 4},
     "",
     "",
     4},
    {"6HD", "NDC1HWC0", {1, 2, 1, 4, 3, 16}, Shape{1, 5, 2, 4, 3}, "", Shape{1, 5, 2, 4, 3}, ""},
    {"6HD alone", "NDC1HWC0", {1, 2, 1, 4, 3, 16}, {}, "ND", Shape{1, 16, 2, 4, 3}, ""},
    {"6HD of NDHWC",
     "NDC1HWC0",
     {1, 2, 1, 4, 3, 16},
     Shape{1, 2, 4, 3, 5},
     "NCDHW",
     Shape{1, 5, 2, 4, 3},
     ""},
    {"6HD to 4-D", "NDC1HWC0", {1, 2, 1, 4, 3, 16}, {}, "NCHW", {}, "axis order does not fit"},
    {"C1HWNC0", "C1HWNC0", {2, 3, 4, 5, 16}, Shape{5, 20, 3, 4}, "", Shape{5, 20, 3, 4}, ""},
    {"NHWC1C0", "NHWC1C0", {5, 3, 4, 2, 16}, Shape{5, 20, 3, 4}, "", Shape{5, 20, 3, 4}, ""},

    {"NZ", "FRACTAL_NZ", {3, 2, 16, 16}, Shape{20, 33}, "", Shape{20, 33}, ""},
    {"NZ alone is padded", "FRACTAL_NZ", {3, 2, 16, 16}, {}, "", Shape{32, 48}, ""},
    {"NZ has no letters", "FRACTAL_NZ", {3, 2, 16, 16}, Shape{20, 33}, "NHWC", Shape{20, 33}, ""},
    {"NZ of a vector", "FRACTAL_NZ", {3, 1, 16, 16}, Shape{33}, "", Shape{33}, ""},
    {"NZ of a scalar", "FRACTAL_NZ", {1, 1, 16, 16}, Shape{}, "", Shape{}, ""},
    {"NZ of a vector, two rows of tiles",
     "FRACTAL_NZ",
     {3, 2, 16, 16},
     Shape{33},
     "",
     {},
     "does not fit",
     "2 x 3 tiles of 16 x 16 cannot hold exactly 1 x 33"},
    {"NZ with batches",
     "FRACTAL_NZ",
     {2, 3, 3, 2, 16, 16},
     Shape{2, 3, 17, 40},
     "",
     Shape{2, 3, 17, 40},
     ""},
    {"NZ with flat batches",
     "FRACTAL_NZ",
     {6, 3, 2, 16, 16},
     Shape{2, 3, 17, 40},
     "",
     Shape{2, 3, 17, 40},
     ""},
    {"NZ with a batch of one",
     "FRACTAL_NZ",
     {3, 2, 16, 16},
     Shape{1, 17, 40},
     "",
     Shape{1, 17, 40},
     ""},
    {"NZ with other batches",
     "FRACTAL_NZ",
     {3, 2, 3, 2, 16, 16},
     Shape{2, 3, 17, 40},
     "",
     {},
     "does not fit",
     "batch"},
    {"NZ of int8, 31 columns of padding",
     "FRACTAL_NZ",
     {2, 2, 16, 32},
     Shape{17, 33},
     "",
     Shape{17, 33},
     ""},
    {"NZ one column too few", "FRACTAL_NZ", {2, 2, 16, 32}, Shape{17, 32}, "", {}, "does not fit"},
    {"NZ one row too few", "FRACTAL_NZ", {2, 2, 16, 32}, Shape{16, 33}, "", {}, "does not fit"},
    {"NZ of nothing", "FRACTAL_NZ", {0, 2, 16, 16}, Shape{20, 0}, "", Shape{20, 0}, ""},
    {"NZ without tiles", "FRACTAL_NZ", {2, 2, 0, 16}, {}, "", {}, "does not fit its layout"},
    {"no NZ at all",
     "FRACTAL_NZ",
     {2, 16, 16},
     {},
     "",
     {},
     "does not fit its layout",
     "(..., N1, M1, M0, N0)"},

    {"Z", "FRACTAL_Z", {18, 1, 16, 16}, Shape{8, 20, 3, 3}, "", Shape{8, 20, 3, 3}, ""},
    {"Z as HWCN", "FRACTAL_Z", {18, 1, 16, 16}, Shape{8, 20, 3, 3}, "HWCN", Shape{3, 3, 20, 8}, ""},
    {"Z of HWCN", "FRACTAL_Z", {18, 1, 16, 16}, Shape{3, 3, 20, 8}, "", Shape{3, 3, 20, 8}, ""},
    {"Z of HWCN as NHWC",
     "FRACTAL_Z",
     {18, 1, 16, 16},
     Shape{3, 3, 20, 8},
     "NHWC",
     Shape{8, 3, 3, 20},
     ""},
    {"Z alone",
     "FRACTAL_Z",
     {18, 1, 16, 16},
     {},
     "NCHW",
     {},
     "layout FRACTAL_Z needs the logical shape",
     "[18, 1, 16, 16]"},
    {"Z too small", "FRACTAL_Z", {9, 1, 16, 16}, Shape{8, 20, 3, 3}, "", {}, "does not fit"},
    {"Z of another rank", "FRACTAL_Z", {18, 1, 16, 16}, Shape{8, 180}, "", {}, "does not fit"},
    {"no Z at all",
     "FRACTAL_Z",
     {18, 16, 16},
     Shape{8, 20, 3, 3},
     "",
     {},
     "does not fit its layout"},
    {"Z without tiles",
     "FRACTAL_Z",
     {18, 1, 0, 16},
     Shape{8, 20, 3, 3},
     "",
     {},
     "does not fit its layout"},
    {"Z of nothing", "FRACTAL_Z", {0, 1, 16, 16}, Shape{8, 20, 0, 3}, "", Shape{8, 20, 0, 3}, ""},
    {"Z of int8", "FRACTAL_Z", {9, 1, 16, 32}, Shape{8, 20, 3, 3}, "", Shape{8, 20, 3, 3}, ""},
    {"Z in groups",
     "FRACTAL_Z",
     {4, 1, 16, 16},
     Shape{8, 3, 2, 2},
     "",
     Shape{8, 3, 2, 2},
     "",
     "",
     4},
    {"groups that do not divide",
     "FRACTAL_Z",
     {4, 1, 16, 16},
     Shape{8, 3, 2, 2},
     "",
     {},
     "does not fit",
     "weights of 3 groups fill tiles of 16 x 16",
     3},
    {"groups zero is no groups",
     "FRACTAL_Z",
     {18, 1, 16, 16},
     Shape{8, 20, 3, 3},
     "",
     Shape{8, 20, 3, 3},
     "",
     "",
     0},
    {"Z 3-D",
     "FRACTAL_Z_3D",
     {36, 1, 16, 16},
     Shape{8, 20, 2, 3, 3},
     "",
     Shape{8, 20, 2, 3, 3},
     ""},
    {"Z 3-D of DHWCN",
     "FRACTAL_Z_3D",
     {36, 1, 16, 16},
     Shape{2, 3, 3, 20, 8},
     "NCDHW",
     Shape{8, 20, 2, 3, 3},
     ""},
    {"Z 3-D of 4-D", "FRACTAL_Z_3D", {36, 1, 16, 16}, Shape{8, 20, 3, 3}, "", {}, "does not fit"},

    {"negative", "ND", {2, -3}, {}, "", {}, "shape is impossible", "[2, -3]"},
    {"negative logical", "ND", {6}, Shape{-2, -3}, "", {}, "shape is impossible", "[-2, -3]"},
    {"too many", "NC1HWC0", {kHuge, 2, 3, 4, 16}, {}, "", {}, "shape is impossible"},
    {"too many to be nothing",
     "NC1HWC0",
     {kHuge, 0, kHuge, 4, 16},
     {},
     "",
     {},
     "shape is impossible"},
    {"too many logical",
     "NC1HWC0",
     {1, 2, 3, 4, 16},
     Shape{kHuge, kHuge, 1, 1},
     "",
     {},
     "shape is impossible"},
    {"huge channels", "NC1HWC0", {1, 2, 3, 4, 16}, Shape{1, kHuge, 1, 1}, "", {}, "does not fit"},
    {"huge blocks", "NC1HWC0", {1, 1, 1, 1, kHuge}, Shape{1, 3, 1, 1}, "", Shape{1, 3, 1, 1}, ""},
    {"huge and empty", "NC1HWC0", {0, 1, 1, 1, kHuge}, {}, "", Shape{0, kHuge, 1, 1}, ""},
    {"huge tiles", "FRACTAL_NZ", {1, 1, 1, kHuge}, Shape{1, 3}, "", Shape{1, 3}, ""},
    {"huge empty batches",
     "FRACTAL_NZ",
     {0, 1, 1, 16, 16},
     Shape{0, kHuge, 1, 1},
     "",
     Shape{0, kHuge, 1, 1},
     ""},
    {"huge weights", "FRACTAL_Z", {1, 1, 16, 16}, Shape{1, 1, kHuge, 1}, "", {}, "does not fit"},
    {"huge weights of nothing",
     "FRACTAL_Z",
     {0, 1, 16, 16},
     Shape{8, 0, kHuge / 8, 1},
     "",
     Shape{8, 0, kHuge / 8, 1},
     ""},
    {"huge weight tiles",
     "FRACTAL_Z",
     {1, 1, 1, kHuge},
     Shape{1, 3, 1, 1},
     "",
     Shape{1, 3, 1, 1},
     ""},
    {"huge coprime tiles",
     "FRACTAL_Z",
     {1, 1, (int64_t{1} << 31) - 1, int64_t{1} << 31},
     Shape{9, 1, 1, 1},
     "",
     Shape{9, 1, 1, 1},
     "",
     "",
     9},
    {"many groups",
     "FRACTAL_Z",
     {1, 1, 16, 16},
     Shape{INT32_MAX, kHuge / INT32_MAX, 1, 1},
     "",
     {},
     "does not fit",
     "",
     INT32_MAX},
};

// No offset leaves the storage; checked at the corners, where each axis is at its farthest.
void expect_inside(const IndexMap& map, int64_t stored_count) {
  const Shape shape = map.shape();
  if (element_count(shape) == 0) return;
  for (size_t corner = 0; corner < size_t{1} << shape.size(); ++corner) {
    std::vector<int64_t> index;
    for (size_t i = 0; i < shape.size(); ++i) index.push_back(corner >> i & 1 ? shape[i] - 1 : 0);
    EXPECT_GE(map.offset(index), 0);
    EXPECT_LT(map.offset(index), stored_count);
  }
}

TEST(PlainMap, ShapesAndOrders) {
  for (const MapCase& c : kMapCases) {
    SCOPED_TRACE(c.name);
    const auto map = plain_map(layout(c.layout, c.groups), c.stored, c.logical, c.order);
    if (c.shape) {
      ASSERT_TRUE(map.ok()) << map.error().what << ": " << map.error().where;
      EXPECT_EQ(map->shape(), *c.shape);
      expect_inside(*map, *element_count(c.stored));
    } else {
      ASSERT_FALSE(map.ok());
      EXPECT_THAT(map.error().what, HasSubstr(c.what));
      EXPECT_THAT(map.error().where, HasSubstr(c.where));
      EXPECT_FALSE(map.error().remedy.empty());
    }
  }
}

TEST(StoredAs, Shapes) {
  struct {
    std::string_view layout;
    Shape logical;
    std::string_view order;
    int64_t c0;
    std::optional<Shape> stored;
    int groups = 1;
  } const cases[] = {
      {"ND", {2, 3}, "", 16, Shape{2, 3}},
      {"NHWC", {2, 3, 4, 5}, "NCHW", 16, Shape{2, 4, 5, 3}},
      {"NHWC", {2, 3, 4, 5}, "", 16, Shape{2, 3, 4, 5}},
      {"NC1HWC0", {2, 20, 4, 5}, "NCHW", 16, Shape{2, 2, 4, 5, 16}},
      {"NC1HWC0", {2, 4, 5, 20}, "NHWC", 32, Shape{2, 1, 4, 5, 32}},
      {"NDC1HWC0", {2, 20, 3, 4, 5}, "", 16, Shape{2, 3, 2, 4, 5, 16}},
      {"FRACTAL_NZ", {20, 33}, "", 16, Shape{3, 2, 16, 16}},
      {"FRACTAL_NZ", {33}, "", 32, Shape{2, 1, 16, 32}},
      {"FRACTAL_NZ", {}, "", 16, Shape{1, 1, 16, 16}},
      {"FRACTAL_NZ", {2, 3, 17, 40}, "", 16, Shape{2, 3, 3, 2, 16, 16}},
      {"FRACTAL_Z", {8, 20, 3, 3}, "NCHW", 16, Shape{18, 1, 16, 16}},
      {"FRACTAL_Z", {3, 3, 20, 8}, "HWCN", 32, Shape{9, 1, 16, 32}},
      {"FRACTAL_Z", {8, 3, 2, 2}, "", 16, Shape{4, 1, 16, 16}, 4},
      {"FRACTAL_Z_3D", {8, 20, 2, 3, 3}, "NCDHW", 16, Shape{36, 1, 16, 16}},
      {"NC1HWC0", {2, 20}, "NC", 16, {}},
      {"NC1HWC0", {2, 20, 4, 5}, "NCXX", 16, {}},
      {"NC1HWC0", {2, 20, 4, 5}, "NCHW", 0, {}},
      {"NC1HWC0", {2, 20, 4, 5}, "NCHW", -16, {}},
      {"NC1HWC0", {2, -20, 4, 5}, "NCHW", 16, {}},
      {"NC1HWC0", {2, 20, 4, 5}, "NCHW", kHuge, {}},
      {"NC1HWC0", {kHuge, 2, 1, 1}, "NCHW", 16, {}},
      {"FRACTAL_NZ", {kHuge, 1}, "", 16, {}},
      {"FRACTAL_NZ", {kHuge, kHuge}, "", 16, {}},
      {"FRACTAL_Z", {8, 20, 3, 3}, "NCHW", kHuge, {}},
      {"FRACTAL_Z", {8, 20, 3, 3}, "NCHW", 16, {}, 3},
      {"FRACTAL_ZZ", {8, 20}, "", 16, {}},
  };
  for (const auto& c : cases) {
    const auto result = stored_as(layout(c.layout, c.groups), c.logical, c.order, c.c0);
    SCOPED_TRACE(std::string(c.layout) + " " + to_string(c.logical));
    ASSERT_EQ(result.ok(), c.stored.has_value());
    if (!result) continue;
    EXPECT_EQ(result->stored, *c.stored);
    EXPECT_EQ(result->map.shape(), c.logical);
    expect_inside(result->map, *element_count(result->stored));
  }
}

}  // namespace
}  // namespace plumb
