// SPDX-License-Identifier: Apache-2.0
//
// Where elements lie. The truth comes from three sides: maps worked out by hand, the published
// formulas of each layout written out as loops, and conversions done by the vendor's own tool.
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "tensor/layout_testing.h"

namespace plumb {
namespace {

// Calls `use` with every index of the shape, the last axis fastest.
template <class Use>
void for_each_index(const Shape& shape, Use&& use) {
  if (element_count(shape) == 0) return;
  std::vector<int64_t> index(shape.size());
  while (true) {
    use(index);
    size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

std::vector<int64_t> offsets(const IndexMap& map) {
  std::vector<int64_t> result;
  for_each_index(map.shape(), [&](const auto& index) { result.push_back(map.offset(index)); });
  return result;
}

using V = std::vector<int64_t>;

TEST(Gather, MapsWorkedOutByHand) {
  // Two blocks of two channels, one row of two pixels; the fourth channel is padding.
  const Shape blocked{1, 2, 1, 2, 2};
  EXPECT_EQ(offsets(*plain_map(layout("NC1HWC0"), blocked, Shape{1, 3, 1, 2})),
            (V{0, 2, 1, 3, 4, 6}));
  EXPECT_EQ(offsets(*plain_map(layout("NC1HWC0"), blocked, Shape{1, 3, 1, 2}, "NHWC")),
            (V{0, 1, 4, 2, 3, 6}));
  EXPECT_EQ(offsets(*plain_map(layout("NC1HWC0"), blocked, {})), (V{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(offsets(*plain_map(layout("NHWC1C0"), {1, 1, 2, 2, 2}, Shape{1, 3, 1, 2})),
            (V{0, 4, 1, 5, 2, 6}));
  EXPECT_EQ(offsets(*plain_map(layout("C1HWNC0"), {2, 1, 1, 2, 2}, Shape{2, 3, 1, 1})),
            (V{0, 1, 4, 2, 3, 6}));
  EXPECT_EQ(offsets(*plain_map(layout("NDC1HWC0"), {1, 2, 1, 1, 2, 2}, {})),
            (V{0, 2, 4, 6, 1, 3, 5, 7}));
  // Tiles of two by two, the tiles column by column.
  EXPECT_EQ(offsets(*plain_map(layout("FRACTAL_NZ"), {2, 1, 2, 2}, Shape{2, 3})),
            (V{0, 1, 4, 2, 3, 6}));
  EXPECT_EQ(offsets(*plain_map(layout("FRACTAL_NZ"), {2, 1, 2, 2}, Shape{3})), (V{0, 1, 4}));
  EXPECT_EQ(offsets(*plain_map(layout("FRACTAL_NZ"), {2, 1, 1, 2, 2}, Shape{2, 2, 1})),
            (V{0, 2, 4, 6}));
  // Two outputs of three channels, one row of two weights, in tiles of two outputs by two channels.
  EXPECT_EQ(offsets(*plain_map(layout("FRACTAL_Z"), {4, 1, 2, 2}, Shape{2, 3, 1, 2})),
            (V{0, 4, 1, 5, 8, 12, 2, 6, 3, 7, 10, 14}));
  // Three groups of one output and one channel: two share a tile along its diagonal, the third
  // starts the next one.
  EXPECT_EQ(offsets(*plain_map(layout("FRACTAL_Z", 3), {2, 1, 2, 2}, Shape{3, 1, 1, 1})),
            (V{0, 3, 4}));
  EXPECT_EQ(offsets(*plain_map(layout("NHWC"), {1, 1, 2, 3}, {}, "NCHW")), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(offsets(*strided_map({2, 3}, column_major_strides({2, 3}), 0, 6)),
            (V{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(offsets(*strided_map({2, 2}, {-3, 0}, 4, 5)), (V{4, 4, 1, 1}));
  EXPECT_EQ(offsets(*plain_map(layout("ND"), {}, {})), V{0});
  EXPECT_EQ(offsets(*plain_map(layout("ND"), {3, 0}, {})), V{});
}

// --- the formulas ------------------------------------------------------------------------------

// Row-major position of an index.
int64_t position(const Shape& shape, const V& index) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    EXPECT_GE(index[i], 0);
    EXPECT_LT(index[i], shape[i]);
    at = at * shape[i] + index[i];
  }
  return at;
}

struct Sizes {
  int64_t n, c, h, w, d = 1;
};

const Sizes kSizes[] = {
    {1, 1, 1, 1},  {2, 3, 5, 7},     {1, 16, 4, 4},    {3, 17, 2, 3},    {1, 31, 1, 13},
    {2, 33, 3, 1}, {1, 64, 7, 7},    {5, 8, 1, 1},     {1, 20, 11, 1},   {2, 0, 3, 4},
    {0, 3, 2, 2},  {2, 19, 3, 2, 3}, {1, 40, 2, 2, 5}, {17, 5, 1, 3, 2},
};

TEST(Gather, BlockedLayoutsFollowTheirFormulas) {
  for (const Sizes& s : kSizes)
    for (int64_t c0 : {4, 8, 16, 32, 64}) {
      const int64_t c1 = ceil_div(s.c, c0);
      const auto check = [&](std::string_view name, const Shape& stored, const Shape& logical,
                             auto&& at) {
        SCOPED_TRACE(std::string(name) + " " + to_string(logical) + " " + std::to_string(c0));
        const auto map = plain_map(layout(name), stored, logical);
        ASSERT_TRUE(map.ok()) << map.error().where;
        for_each_index(logical,
                       [&](const V& i) { ASSERT_EQ(map->offset(i), position(stored, at(i))); });
        const auto there = stored_as(layout(name), logical, "", c0);
        ASSERT_TRUE(there.ok());
        EXPECT_EQ(there->stored, stored);
        EXPECT_EQ(offsets(there->map), offsets(*map));
      };
      const Shape nchw{s.n, s.c, s.h, s.w};
      if (s.d == 1) {
        check("NC1HWC0", {s.n, c1, s.h, s.w, c0}, nchw, [&](const V& i) {
          return V{i[0], i[1] / c0, i[2], i[3], i[1] % c0};
        });
        check("NHWC1C0", {s.n, s.h, s.w, c1, c0}, nchw, [&](const V& i) {
          return V{i[0], i[2], i[3], i[1] / c0, i[1] % c0};
        });
        check("C1HWNC0", {c1, s.h, s.w, s.n, c0}, nchw, [&](const V& i) {
          return V{i[1] / c0, i[2], i[3], i[0], i[1] % c0};
        });
      }
      check("NDC1HWC0", {s.n, s.d, c1, s.h, s.w, c0}, {s.n, s.c, s.d, s.h, s.w},
            [&](const V& i) { return V{i[0], i[2], i[1] / c0, i[3], i[4], i[1] % c0}; });
    }
}

TEST(Gather, FractalNzFollowsItsFormula) {
  for (const Shape& batch : {Shape{}, Shape{1}, Shape{3}, Shape{2, 3}, Shape{2, 0}})
    for (int64_t m : {1, 2, 15, 16, 17, 33})
      for (int64_t n : {1, 7, 16, 31, 32, 65})
        for (int64_t n0 : {8, 16, 32, 64}) {
          const int64_t m0 = 16;
          Shape stored = batch, logical = batch;
          stored.insert(stored.end(), {ceil_div(n, n0), ceil_div(m, m0), m0, n0});
          logical.insert(logical.end(), {m, n});
          SCOPED_TRACE(to_string(logical) + " " + to_string(stored));
          const auto map = plain_map(layout("FRACTAL_NZ"), stored, logical);
          ASSERT_TRUE(map.ok()) << map.error().where;
          for_each_index(logical, [&](const V& i) {
            V at(i.begin(), i.end() - 2);
            const int64_t row = i[i.size() - 2], column = i.back();
            at.insert(at.end(), {column / n0, row / m0, row % m0, column % n0});
            ASSERT_EQ(map->offset(i), position(stored, at));
          });
          const auto there = stored_as(layout("FRACTAL_NZ"), logical, "", n0);
          EXPECT_EQ(there->stored, stored);
          EXPECT_EQ(offsets(there->map), offsets(*map));
        }
}

// FRACTAL_Z and FRACTAL_Z_3D by the loops that write it, groups and all: for each place of the
// stored weights the logical position of the element there, -1 for padding.
struct Weights {
  int64_t blocks;
  Shape stored;
  V source;
};
Weights fractal_z(const Sizes& s, int64_t groups, int64_t c0) {
  const int64_t n0 = 16, per_group = s.n / groups;
  const int64_t e =
      std::min(std::lcm(std::lcm(s.c, c0) / s.c, std::lcm(per_group, n0) / per_group), groups);
  const int64_t c1 = ceil_div(e * s.c, c0), n1 = ceil_div(e * per_group, n0);
  const int64_t blocks = ceil_div(groups, e);
  Weights result{blocks, {blocks * s.d * c1 * s.h * s.w, n1, n0, c0}, {}};
  result.source.assign(static_cast<size_t>(*element_count(result.stored)), -1);
  for (int64_t g = 0; g < groups; ++g)
    for_each_index({per_group, s.c, s.d, s.h, s.w}, [&](const V& i) {
      const int64_t dn = g % e * per_group + i[0], dc = g % e * s.c + i[1];
      const int64_t row = ((((g / e) * s.d + i[2]) * c1 + dc / c0) * s.h + i[3]) * s.w + i[4];
      const int64_t at = position(result.stored, {row, dn / n0, dn % n0, dc % c0});
      EXPECT_EQ(result.source[at], -1) << "two elements in one place";
      result.source[at] =
          position({s.n, s.c, s.d, s.h, s.w}, {g * per_group + i[0], i[1], i[2], i[3], i[4]});
    });
  return result;
}

TEST(Gather, FractalZFollowsItsFormula) {
  struct {
    Sizes sizes;
    int64_t groups;
    int64_t blocks;  // that the groups take, with C0 = 16
  } const cases[] = {
      {{8, 20, 3, 3}, 1, 1},    {{33, 17, 1, 1}, 1, 1},    {{16, 16, 5, 2}, 1, 1},
      {{8, 3, 2, 2}, 4, 1},     {{32, 1, 3, 3}, 32, 2},  // depthwise
      {{40, 1, 3, 3}, 40, 3},                            // and a block that is not full
      {{64, 4, 3, 3}, 16, 4},   {{32, 16, 1, 3}, 2, 2},    {{6, 5, 2, 1}, 3, 1},
      {{48, 8, 1, 1}, 6, 3},    {{96, 32, 2, 2}, 3, 3},    {{20, 24, 1, 2}, 5, 2},
      {{8, 20, 3, 3, 2}, 1, 1}, {{64, 4, 2, 1, 3}, 16, 4}, {{40, 1, 1, 2, 2}, 40, 3},
  };
  for (const auto& c : cases)
    for (int64_t c0 : {8, 16, 32}) {
      const Sizes& s = c.sizes;
      const Weights expected = fractal_z(s, c.groups, c0);
      const bool deep = s.d > 1;
      const Shape logical = deep ? Shape{s.n, s.c, s.d, s.h, s.w} : Shape{s.n, s.c, s.h, s.w};
      SCOPED_TRACE(to_string(logical) + " in " + std::to_string(c.groups) + " groups, C0 " +
                   std::to_string(c0));
      if (c0 == 16) {
        EXPECT_EQ(expected.blocks, c.blocks);
      }
      const Layout kind = layout(deep ? "FRACTAL_Z_3D" : "FRACTAL_Z", static_cast<int>(c.groups));
      const auto map = plain_map(kind, expected.stored, logical);
      ASSERT_TRUE(map.ok()) << map.error().where;
      const V found = offsets(*map);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(expected.source[found[i]], static_cast<int64_t>(i));
      const auto there = stored_as(kind, logical, "", c0);
      ASSERT_TRUE(there.ok());
      EXPECT_EQ(there->stored, expected.stored);
      EXPECT_EQ(offsets(there->map), found);

      // The same weights recorded and read in another axis order are the same elements.
      const std::string_view order = deep ? "DHWCN" : "HWCN";
      const auto turned = plain_map(kind, expected.stored, logical, order);
      const Shape shape = turned->shape();
      for_each_index(shape, [&](const V& i) {
        const V back = deep ? V{i[4], i[3], i[0], i[1], i[2]} : V{i[3], i[2], i[0], i[1]};
        ASSERT_EQ(turned->offset(i), map->offset(back));
      });
      EXPECT_EQ(stored_as(kind, shape, order, c0)->stored, expected.stored);
    }
}

TEST(Gather, PlainPermutations) {
  const std::string_view orders4[] = {"NCHW", "NHWC", "HWCN", "CHWN"};
  const std::string_view orders5[] = {"NCDHW", "NDHWC", "DHWCN", "DHWNC"};
  const auto size_of = [](char axis) { return std::string_view("..NCDHWL").find(axis); };
  const auto check = [&](std::string_view stored_order, std::string_view order) {
    SCOPED_TRACE(std::string(stored_order) + " as " + std::string(order));
    Shape stored;
    for (char axis : stored_order) stored.push_back(static_cast<int64_t>(size_of(axis)));
    const auto map = plain_map(layout(stored_order), stored, {}, order);
    ASSERT_TRUE(map.ok()) << map.error().where;
    for_each_index(map->shape(), [&](const V& i) {
      V at(i.size());
      for (size_t k = 0; k < i.size(); ++k) at[stored_order.find(order[k])] = i[k];
      ASSERT_EQ(map->offset(i), position(stored, at));
    });
    const auto there = stored_as(layout(stored_order), map->shape(), order, 16);
    ASSERT_TRUE(there.ok());
    EXPECT_EQ(there->stored, stored);
    EXPECT_EQ(offsets(there->map), offsets(*map));
  };
  for (auto from : orders4)
    for (auto to : orders4) check(from, to);
  for (auto from : orders5)
    for (auto to : orders5) check(from, to);
  check("NC", "CN");
  check("CN", "NC");
  check("NCL", "NCL");
}

// --- moving ------------------------------------------------------------------------------------

struct Moved {
  std::string name;
  IndexMap map;
  int64_t stored_count;
};

std::vector<Moved> all_sorts_of_maps() {
  std::vector<Moved> result;
  const auto add = [&](std::string_view name, const Shape& stored,
                       const std::optional<Shape>& logical, std::string_view order,
                       int groups = 1) {
    auto map = plain_map(layout(name, groups), stored, logical, order);
    EXPECT_TRUE(map.ok()) << name << " " << to_string(stored);
    if (map)
      result.push_back(
          {std::string(name) + to_string(stored) + to_string(map->shape()) + std::string(order),
           *map, *element_count(stored)});
  };
  for (std::string_view order : {"NCHW", "NHWC", "HWCN", "CHWN"}) {
    add("NC1HWC0", {2, 2, 3, 5, 16}, Shape{2, 20, 3, 5}, order);
    add("NC1HWC0", {1, 1, 9, 11, 32}, Shape{1, 3, 9, 11}, order);
    add("NC1HWC0", {2, 3, 1, 17, 8}, Shape{2, 23, 1, 17}, order);
    add("NC1HWC0", {1, 1, 7, 19, 64}, Shape{1, 50, 7, 19}, order);
    add("NC1HWC0", {1, 5, 4, 4, 4}, {}, order);
    add("NHWC", {2, 5, 7, 19}, {}, order);
    add("NCHW", {3, 18, 5, 7}, {}, order);
    add("HWCN", {3, 3, 20, 9}, {}, order);
    add("C1HWNC0", {2, 3, 3, 5, 16}, Shape{5, 30, 3, 3}, order);
    add("NHWC1C0", {2, 3, 5, 2, 16}, Shape{2, 30, 3, 5}, order);
    add("FRACTAL_Z", {18, 2, 16, 16}, Shape{20, 20, 3, 3}, order);
    add("FRACTAL_Z", {4, 1, 16, 32}, Shape{7, 20, 2, 2}, order);
    add("FRACTAL_Z", {18, 1, 16, 16}, Shape{32, 1, 3, 3}, order, 32);
    add("FRACTAL_Z", {8, 2, 16, 16}, Shape{20, 5, 2, 4}, order, 2);
  }
  for (std::string_view order : {"NCDHW", "NDHWC", "DHWCN"}) {
    add("NDC1HWC0", {2, 3, 2, 3, 2, 16}, Shape{2, 21, 3, 3, 2}, order);
    add("FRACTAL_Z_3D", {24, 1, 16, 16}, Shape{7, 20, 3, 2, 2}, order);
  }
  add("FRACTAL_NZ", {3, 2, 16, 16}, Shape{20, 33}, "");
  add("FRACTAL_NZ", {2, 3, 2, 2, 16, 32}, Shape{2, 3, 31, 57}, "");
  add("FRACTAL_NZ", {9, 1, 16, 8}, Shape{70}, "");
  add("FRACTAL_NZ", {2, 2, 3, 2}, Shape{5, 4}, "");
  add("ND", {6, 4}, Shape{2, 3, 4}, "");
  add("ND", {}, {}, "");
  add("ND", {3, 0, 2}, {}, "");
  const auto add_strided = [&](const Shape& shape, const Shape& strides, int64_t first,
                               int64_t stored_count) {
    auto map = strided_map(shape, strides, first, stored_count);
    EXPECT_TRUE(map.ok());
    result.push_back({"strided " + to_string(shape) + to_string(strides), *map, stored_count});
  };
  add_strided({5, 7, 11}, column_major_strides({5, 7, 11}), 0, 385);
  add_strided({40, 30}, {1, 41}, 3, 1232);
  add_strided({30, 40}, {-40, -1}, 1199, 1200);
  add_strided({4, 6}, {0, 2}, 1, 12);
  add_strided({50, 20}, {1, 1}, 0, 69);  // overlapping windows
  add_strided({50, 3}, {3, 1}, 2, 152);
  // A split axis whose blocks are not contiguous, as no layout has so far.
  result.push_back(
      {"odd split", IndexMap{{{4, 1, 100, 0}, {10, 4, 31, 7}, {3, 1, 2, 0}}, 1, {}}, 400});
  return result;
}

template <size_t kItemBytes>
void expect_moves(const Moved& m, std::mt19937& random) {
  const V at = offsets(m.map);
  const auto count = static_cast<int64_t>(at.size());
  // At an odd address, as in a file, and in memory of exactly that size, so that a sanitizer sees
  // each byte read too many.
  std::vector<std::byte> stored(static_cast<size_t>(m.stored_count) * kItemBytes + 1);
  for (std::byte& b : stored) b = static_cast<std::byte>(random());
  const auto stored_item = [&](int64_t i) { return stored.data() + 1 + i * int64_t{kItemBytes}; };
  const auto check = [&](int64_t first, int64_t n) {
    std::vector<std::byte> out(static_cast<size_t>(n) * kItemBytes + 2, std::byte{0x5A});
    gather(m.map, kItemBytes, stored_item(0), first, n, out.data() + 1);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(std::memcmp(out.data() + 1 + i * int64_t{kItemBytes}, stored_item(at[first + i]),
                            kItemBytes),
                0)
          << "element " << i << " of [" << first << ", " << first + n << ")";
    ASSERT_EQ(out.front(), std::byte{0x5A});
    ASSERT_EQ(out.back(), std::byte{0x5A});
  };
  check(0, count);
  for (int i = 0; i < 20 && count > 0; ++i) {
    const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(count));
    const auto most = static_cast<uint64_t>(count - first) + 1;
    check(first, static_cast<int64_t>(random() % most));
  }

  if (V sorted = at; std::sort(sorted.begin(), sorted.end()),
                     std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return;  // storing needs a place for each element
  std::vector<std::byte> plain(static_cast<size_t>(count) * kItemBytes);
  for (std::byte& b : plain) b = static_cast<std::byte>(random());
  std::vector<std::byte> expected = stored;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(expected.data() + 1 + at[i] * int64_t{kItemBytes},
                plain.data() + i * int64_t{kItemBytes}, kItemBytes);
  scatter(m.map, kItemBytes, plain.data(), stored.data() + 1);
  ASSERT_TRUE(stored == expected) << "scatter";
}

TEST(Gather, AnyRangeOfAnyMapAndBack) {
  std::mt19937 random(7);
  for (const Moved& m : all_sorts_of_maps()) {
    SCOPED_TRACE(m.name);
    expect_moves<1>(m, random);
    expect_moves<2>(m, random);
    expect_moves<4>(m, random);
    expect_moves<8>(m, random);
    expect_moves<16>(m, random);
    if (HasFatalFailure()) return;
  }
}

// Store, then read back: the elements are the same, and what lies between them is untouched.
TEST(Gather, ThereAndBackIsIdentity) {
  std::mt19937 random(11);
  const int64_t odd[] = {0, 1, 2, 3, 5, 13, 16, 17, 31, 37};
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  const int64_t blocks[] = {4, 8, 16, 32, 64};
  const int group_counts[] = {1, 2, 3, 5, 8};
  for (int round = 0; round < 400; ++round)
    for (const std::string& name : layout_names()) {
      const bool deep = name.find('D') != std::string::npos && name != "ND";
      const bool is_weight = name.starts_with("FRACTAL_Z");
      Shape logical;
      size_t rank = name == "NC" || name == "CN" ? 2 : name == "NCL" ? 3 : deep ? 5 : 4;
      if (name == "ND" || name == "FRACTAL_NZ") rank = random() % 5;
      for (size_t i = 0; i < rank; ++i) logical.push_back(i < 2 ? pick(odd) : pick(odd) % 6);
      const int groups = is_weight ? pick(group_counts) : 1;
      if (is_weight) logical[0] *= groups;
      const int64_t c0 = pick(blocks);
      if (*element_count(logical) > 20000) continue;
      SCOPED_TRACE(name + " " + to_string(logical) + " C0 " + std::to_string(c0) + " groups " +
                   std::to_string(groups));
      const Layout kind = layout(name, groups);
      const auto there = stored_as(kind, logical, "", c0);
      ASSERT_TRUE(there.ok()) << there.error().where;
      const auto count = static_cast<size_t>(*element_count(logical));
      const auto stored_count = static_cast<size_t>(*element_count(there->stored));
      std::vector<uint32_t> plain(count), stored(stored_count, 0), back(count, 0);
      std::iota(plain.begin(), plain.end(), 1U);
      scatter(there->map, 4, reinterpret_cast<const std::byte*>(plain.data()),
              reinterpret_cast<std::byte*>(stored.data()));
      const auto used =
          std::count_if(stored.begin(), stored.end(), [](uint32_t v) { return v != 0; });
      ASSERT_EQ(static_cast<size_t>(used), count);
      const auto map = plain_map(kind, there->stored, logical);
      ASSERT_TRUE(map.ok()) << map.error().where;
      ASSERT_EQ(map->shape(), logical);
      gather(*map, 4, reinterpret_cast<const std::byte*>(stored.data()), 0,
             static_cast<int64_t>(count), reinterpret_cast<std::byte*>(back.data()));
      ASSERT_EQ(back, plain);
    }
}

// --- the vendor's tool -------------------------------------------------------------------------

std::string read_file(const std::string& name) {
  std::ifstream file(std::string(PLUMB_TEST_DATA) + "/layout/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Gather, AgreesWithTheVendorsTool) {
  const std::string data = read_file("vectors.bin");
  std::istringstream lines(read_file("vectors.txt"));
  int checked = 0;
  std::string name, layout_name, stored_text, logical_text, order;
  int groups = 0;
  size_t item_bytes = 0, stored_offset = 0, plain_offset = 0;
  while (lines >> name >> layout_name >> groups >> item_bytes >> stored_text >> logical_text >>
         order >> stored_offset >> plain_offset) {
    SCOPED_TRACE(name);
    std::optional<Shape> logical;
    if (logical_text != "-") logical = *shape_from_text(logical_text);
    const auto map = plain_map(layout(layout_name, groups), *shape_from_text(stored_text), logical,
                               order == "-" ? "" : order);
    ASSERT_TRUE(map.ok()) << map.error().where;
    const int64_t count = *element_count(map->shape());
    std::string plain(static_cast<size_t>(count) * item_bytes, '\0');
    gather(*map, item_bytes, reinterpret_cast<const std::byte*>(data.data()) + stored_offset, 0,
           count, reinterpret_cast<std::byte*>(plain.data()));
    EXPECT_TRUE(plain == data.substr(plain_offset, plain.size()));
    ++checked;
  }
  EXPECT_EQ(checked, 16);
}

}  // namespace
}  // namespace plumb
