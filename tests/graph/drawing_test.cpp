// SPDX-License-Identifier: Apache-2.0
//
// Laws of drawings, for networks of the usual kinds in sizes from a few to thousands of operators,
// and for anything at all: nodes do not overlap, lines lead from producer to consumer and run over
// no other node, and lines cross seldom.
#include "graph/drawing.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <unordered_map>

#include <gtest/gtest.h>

#include "sample_of.h"

namespace plumb::graph {
namespace {

constexpr double kShapes[] = {2.2, 1.1, 0.55};

class Network {
 public:
  int32_t add(std::initializer_list<int32_t> inputs) { return add(std::vector<int32_t>(inputs)); }
  int32_t add(const std::vector<int32_t>& inputs) {
    for (const int32_t input : inputs) spec.edges.push_back({input, spec.nodes});
    return spec.nodes++;
  }
  int32_t chain(int32_t from, int length) {
    for (; length > 0; --length) from = add({from});
    return from;
  }
  DrawingSpec spec;
};

// Residual blocks of eight operators, every eighth with a projection.
DrawingSpec resnet(int32_t size) {
  Network net;
  int32_t x = net.chain(net.add({}), 2);
  for (int block = 0; net.spec.nodes < size - 2; ++block) {
    const int32_t y = net.chain(x, 8);
    const int32_t skip = block % 8 == 0 ? net.add({x}) : x;
    x = net.add({net.add({y, skip})});
  }
  net.chain(x, 2);
  return net.spec;
}

// Blocks of attention and gated layers, down to single operators; a mask and tables of positions
// are read by all.
DrawingSpec transformer(int32_t size) {
  Network net;
  const int32_t ids = net.add({}), mask = net.add({});
  int32_t x = net.add({ids});
  const int32_t cosine = net.add({ids}), sine = net.add({ids}), wide_mask = net.add({mask});
  const auto norm = [&](int32_t in) { return net.add({net.add({in, net.chain(in, 4)})}); };
  const auto turn = [&](int32_t in) {
    const int32_t a = net.add({in}), b = net.add({net.add({in})}), c = net.add({b, a});
    return net.add({net.add({in, cosine}), net.add({c, sine})});
  };
  while (net.spec.nodes < size - 4) {
    const int32_t h = norm(x);
    const int32_t q = net.chain(h, 3), k = net.chain(h, 3), v = net.chain(h, 3);
    const int32_t turned_q = turn(q), turned_k = turn(k);
    const int32_t scores = net.add({net.add({turned_q, net.add({turned_k})})});
    const int32_t weights = net.add({net.add({scores, wide_mask})});
    const int32_t r = net.add({x, net.chain(net.add({weights, v}), 3)});
    const int32_t h2 = norm(r), gate = net.add({h2});
    const int32_t silu = net.add({gate, net.add({gate})});
    x = net.add({r, net.add({net.add({silu, net.add({h2})})})});
  }
  net.add({norm(x)});
  return net.spec;
}

// A backbone of mixed branches, a pyramid over its taps, and many heads that meet in the end.
DrawingSpec detector(int32_t size) {
  Network net;
  int32_t x = net.add({});
  std::vector<int32_t> taps, levels, outputs;
  for (int block = 0; net.spec.nodes < size * 7 / 10; ++block) {
    std::vector<int32_t> branches;
    for (int k = 0; k < 2 + block % 5; ++k) branches.push_back(net.chain(x, 2 * (k % 4 + 1)));
    x = net.add(branches);
    if (block % 4 == 3 && taps.size() < 40) taps.push_back(x);
  }
  int32_t level = x;
  for (size_t i = taps.size(); i-- > 0 && net.spec.nodes < size - 60;) {
    level = net.add({net.add({taps[i]}), net.add({level})});
    levels.push_back(level);
  }
  for (size_t head = 0; net.spec.nodes < size - 6; ++head)
    for (int branch = 0; branch < 3; ++branch)
      outputs.push_back(net.chain(levels[head % levels.size()], 7));
  net.chain(net.add(outputs), 1);
  return net.spec;
}

// Whatever edges there are, cycles and loops included.
DrawingSpec random_network(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<int32_t>(random() % n); };
  DrawingSpec spec;
  spec.nodes = 1 + below(seed % 10 == 0 ? 400 : 60);
  const int32_t edges = below(3 * static_cast<unsigned>(spec.nodes));
  const auto nodes = static_cast<unsigned>(spec.nodes);
  for (int32_t i = 0; i < edges; ++i) {
    const int32_t from = below(nodes);
    // Mostly forward, a few places on.
    const int32_t to = below(8) == 0 ? below(nodes) : std::min(spec.nodes - 1, from + 1 + below(6));
    spec.edges.push_back({from, to});
  }
  for (int32_t i = 0; i < spec.nodes; ++i)
    spec.beside.push_back(i > 0 ? below(static_cast<unsigned>(i)) : -1);
  return spec;
}

struct Segment {
  double ax, ay, bx, by;
  size_t edge;
};

std::vector<Segment> segments_of(const DrawingSpec& spec, const Drawing& drawing) {
  std::vector<Segment> segments;
  for (size_t e = 0; e < spec.edges.size(); ++e)
    for (int32_t i = drawing.start[e]; i + 1 < drawing.start[e + 1]; ++i) {
      const float* p = &drawing.points[2 * static_cast<size_t>(i)];
      segments.push_back({p[0], p[1], p[2], p[3], e});
    }
  return segments;
}

// Squares of the plane, and who may be in each.
class Grid {
 public:
  template <class Use>
  static void each_cell(double ax, double ay, double bx, double by, const Use& use) {
    for (int64_t x = cell(std::min(ax, bx)); x <= cell(std::max(ax, bx)); ++x)
      for (int64_t y = cell(std::min(ay, by)); y <= cell(std::max(ay, by)); ++y)
        use(x * 1000003 + y);
  }
  std::unordered_map<int64_t, std::vector<size_t>> cells;

 private:
  static int64_t cell(double at) { return static_cast<int64_t>(std::floor(at / 160)); }
};

// Whether a part of the line lies inside the box.
bool runs_over(const Segment& s, double left, double top, double right, double bottom) {
  double begin = 0, end = 1;
  const double dx = s.bx - s.ax, dy = s.by - s.ay;
  for (const auto& [p, q] :
       {std::pair(-dx, s.ax - left), {dx, right - s.ax}, {-dy, s.ay - top}, {dy, bottom - s.ay}}) {
    if (p == 0 && q < 0) return false;
    if (p < 0) begin = std::max(begin, q / p);
    if (p > 0) end = std::min(end, q / p);
  }
  return begin < end;
}

int64_t crossings_of(const DrawingSpec& spec, const Drawing& drawing) {
  const std::vector<Segment> segments = segments_of(spec, drawing);
  Grid grid;
  std::set<std::pair<size_t, size_t>> found;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& s = segments[i];
    Grid::each_cell(s.ax, s.ay, s.bx, s.by, [&](int64_t cell) {
      std::vector<size_t>& others = grid.cells[cell];
      for (const size_t j : others) {
        const Segment& t = segments[j];
        const DrawingEdge &a = spec.edges[s.edge], &b = spec.edges[t.edge];
        if (a.from == b.from || a.to == b.to || a.from == b.to || a.to == b.from) continue;
        const auto side = [](const Segment& line, double x, double y) {
          return (line.bx - line.ax) * (y - line.ay) - (line.by - line.ay) * (x - line.ax);
        };
        if (side(s, t.ax, t.ay) * side(s, t.bx, t.by) < 0 &&
            side(t, s.ax, s.ay) * side(t, s.bx, s.by) < 0)
          found.insert({j, i});
      }
      others.push_back(i);
    });
  }
  return static_cast<int64_t>(found.size());
}

void expect_sound_drawing(const DrawingSpec& spec, const Drawings& drawings,
                          const Drawing& drawing) {
  const auto nodes = static_cast<size_t>(spec.nodes);
  ASSERT_EQ(drawing.x.size(), nodes);
  ASSERT_EQ(drawing.y.size(), nodes);
  ASSERT_EQ(drawing.start.size(), spec.edges.size() + 1);
  ASSERT_EQ(static_cast<size_t>(drawing.start.back()) * 2, drawing.points.size());
  const double w = spec.node_width, h = spec.node_height;
  Grid grid;
  for (size_t i = 0; i < nodes; ++i) {
    const double x = drawing.x[i], y = drawing.y[i];
    ASSERT_GE(x, 0);
    ASSERT_GE(y, 0);
    ASSERT_LE(x + w, drawing.width);
    ASSERT_LE(y + h, drawing.height);
    Grid::each_cell(x, y, x + w, y + h, [&](int64_t cell) {
      for (const size_t j : grid.cells[cell]) {
        const bool overlap =
            std::abs(drawing.x[j] - x) < w - 0.01 && std::abs(drawing.y[j] - y) < h - 0.01;
        ASSERT_FALSE(overlap) << i << " over " << j;
      }
      grid.cells[cell].push_back(i);
    });
  }
  for (const Segment& s : segments_of(spec, drawing)) {
    ASSERT_GE(std::min({s.ax, s.ay, s.bx, s.by}), -0.01);
    ASSERT_LE(std::max(s.ax, s.bx), drawing.width + 0.01);
    ASSERT_LE(std::max(s.ay, s.by), drawing.height + 0.01);
    const auto from = static_cast<size_t>(spec.edges[s.edge].from);
    const auto to = static_cast<size_t>(spec.edges[s.edge].to);
    Grid::each_cell(s.ax, s.ay, s.bx, s.by, [&](int64_t cell) {
      const auto found = grid.cells.find(cell);
      if (found == grid.cells.end()) return;
      for (const size_t i : found->second) {
        if (i == from || i == to) continue;
        const double x = drawing.x[i], y = drawing.y[i];
        ASSERT_FALSE(runs_over(s, x + 1, y + 1, x + w - 1, y + h - 1))
            << "the line of " << from << " to " << to << " runs over " << i;
      }
    });
  }
  for (size_t e = 0; e < spec.edges.size(); ++e) {
    const auto from = static_cast<size_t>(spec.edges[e].from),
               to = static_cast<size_t>(spec.edges[e].to);
    ASSERT_GE(drawing.start[e + 1] - drawing.start[e], 2);
    const float* first = &drawing.points[2 * static_cast<size_t>(drawing.start[e])];
    const float* last = &drawing.points[2 * static_cast<size_t>(drawing.start[e + 1]) - 2];
    const auto touches = [&](const float* point, size_t node) {
      const double x = point[0], y = point[1];
      return x >= drawing.x[node] - 0.01 && x <= drawing.x[node] + w + 0.01 &&
             (std::abs(y - drawing.y[node]) < 0.01 || std::abs(y - drawing.y[node] - h) < 0.01);
    };
    ASSERT_TRUE(touches(last, to)) << e;
    if (!drawings.is_stub[e]) {
      ASSERT_TRUE(touches(first, from)) << e;
    }
  }
}

struct DrawingCase {
  const char* name;
  DrawingSpec (*make)(int32_t size);
  int32_t size;
  int64_t most_crossings;  // of any fold
};

// What an earlier layout of ours reached, or none.
const DrawingCase kDrawingCases[] = {
    {"resnet", resnet, 30, 0},
    {"resnet", resnet, 300, 0},
    {"resnet", resnet, 5000, 0},
    {"transformer", transformer, 60, 9},
    {"transformer", transformer, 300, 9},
    {"transformer", transformer, 1000, 9},
    {"transformer", transformer, 5000, 9},
    {"detector", detector, 300, 12},
    {"detector", detector, 1000, 12},
    {"detector", detector, 5000, 12},
};

TEST(Drawing, UsualNetworks) {
  for (const DrawingCase& c : kDrawingCases) {
    SCOPED_TRACE(std::string(c.name) + " " + std::to_string(c.size));
    const DrawingSpec spec = c.make(c.size);
    const Drawings drawings = draw(spec, kShapes);
    ASSERT_EQ(drawings.folds.size(), std::size(kShapes));
    for (const Drawing& drawing : drawings.folds) {
      expect_sound_drawing(spec, drawings, drawing);
      EXPECT_LE(crossings_of(spec, drawing), c.most_crossings);
    }
  }
}

TEST(Drawing, AnythingAtAll) {
  for (int seed = 0; seed < sample_of(300, 10); ++seed) {
    SCOPED_TRACE(seed);
    const DrawingSpec spec = random_network(static_cast<unsigned>(seed));
    const Drawings drawings = draw(spec, kShapes);
    for (const Drawing& drawing : drawings.folds) expect_sound_drawing(spec, drawings, drawing);
  }
}

TEST(Drawing, OddOnes) {
  EXPECT_TRUE(draw({}, kShapes).folds[0].x.empty());
  DrawingSpec loop;
  loop.nodes = 1;
  loop.edges = {{0, 0}};
  expect_sound_drawing(loop, draw(loop, kShapes), draw(loop, kShapes).folds[0]);
  EXPECT_EQ(draw(loop, kShapes).is_stub, std::vector<uint8_t>{1});
  DrawingSpec apart;  // no edges: one beside the other
  apart.nodes = 500;
  expect_sound_drawing(apart, draw(apart, kShapes), draw(apart, kShapes).folds[0]);
  Network star;  // a row of many
  const int32_t root = star.add({});
  for (int i = 0; i < 1000; ++i) star.add({root});
  expect_sound_drawing(star.spec, draw(star.spec, kShapes), draw(star.spec, kShapes).folds[0]);
  // A single row is 144,000 wide. Folded, it fills a screen like any other network.
  for (const Drawing& fold : draw(star.spec, kShapes).folds) {
    EXPECT_LT(fold.width, 8000);
    EXPECT_LT(fold.width / fold.height, 5);
  }
  for (const Drawing& fold : draw(apart, kShapes).folds) EXPECT_LT(fold.width, 8000);
}

TEST(Drawing, TheSameEachTime) {
  for (const DrawingSpec& spec : {transformer(700), detector(700), random_network(10)}) {
    const Drawings a = draw(spec, kShapes), b = draw(spec, kShapes);
    for (size_t i = 0; i < std::size(kShapes); ++i) {
      EXPECT_EQ(a.folds[i].x, b.folds[i].x);
      EXPECT_EQ(a.folds[i].points, b.folds[i].points);
    }
  }
}

// Far fan-outs are stubs, and what all read does not run through the drawing.
TEST(Drawing, WhatEverybodyReadsIsAStub) {
  const DrawingSpec spec = transformer(1000);
  const Drawings drawings = draw(spec, kShapes);
  int64_t stubs = 0;
  for (size_t e = 0; e < spec.edges.size(); ++e) {
    stubs += drawings.is_stub[e];
    if (drawings.is_stub[e]) {
      EXPECT_LT(spec.edges[e].from, 6);
    }
  }
  EXPECT_GT(stubs, 50);
}

// A folded network of equal blocks: the heights at which its operators stand are few.
TEST(Drawing, EqualBlocksLieSideBySide) {
  const DrawingSpec spec = transformer(2000);
  const Drawings drawings = draw(spec, kShapes);
  const Drawing& wide = drawings.folds[0];
  EXPECT_NEAR(wide.width / wide.height, kShapes[0], 0.5 * kShapes[0]);
  // A block has 52 operators; the first is at 6.
  std::unordered_map<double, std::set<double>> columns_at;  // of the blocks' first operators
  for (int32_t block = 1; 6 + 52 * (block + 1) < spec.nodes - 8; ++block) {
    const auto first = static_cast<size_t>(6 + 52 * block);
    columns_at[wide.y[first]].insert(wide.x[first]);
  }
  EXPECT_LE(columns_at.size(), 6U);
  size_t most = 0;
  for (const auto& [y, columns] : columns_at) most = std::max(most, columns.size());
  EXPECT_GE(most, 4U);
}

}  // namespace
}  // namespace plumb::graph
