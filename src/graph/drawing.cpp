// SPDX-License-Identifier: Apache-2.0
#include "graph/drawing.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/drawing_layers.h"
#include "graph/drawing_piece.h"

namespace plumb::graph {
namespace {

constexpr float kRowGap = 36, kMargin = 16, kStub = 12, kStubGap = 8;
constexpr float kGutter = 36, kChannel = 14, kLane = 6;  // where lines go from column to column
constexpr int kFewRows = 20;                             // are not folded

// All elements at their places in one tall drawing, and where it can be cut.
class Tall {
 public:
  Tall(const Layered& all, const Spacing& spacing) : x(all.layer.size()), all_(all) {
    std::vector<int32_t> number(all.layer.size());  // in the piece
    for (size_t top = 0; top < all.rows.size();) {
      size_t bottom = top + 1;
      while (bottom + 1 < all.rows.size() && all.rows[bottom].size() > 1) ++bottom;
      bottom = std::min(bottom, all.rows.size() - 1);
      add(top, bottom, number, spacing);
      if (bottom + 1 >= all.rows.size()) break;
      top = bottom;
    }
    choose_leads();
  }

  std::vector<float> x;      // the middle of each element
  std::vector<size_t> lead;  // rows behind which a piece of the most common kind begins
  size_t kinds() const { return solved_.size(); }

 private:
  struct Solved {
    std::vector<float> x;
    std::vector<size_t> tops;  // rows where it begins
    size_t rows = 0;
  };

  void add(size_t top, size_t bottom, std::vector<int32_t>& number, const Spacing& spacing) {
    Piece piece;
    std::vector<int32_t> elements;
    for (size_t r = top; r <= bottom; ++r) {
      piece.row.push_back(static_cast<int32_t>(elements.size()));
      for (const int32_t element : all_.rows[r]) {
        number[static_cast<size_t>(element)] = static_cast<int32_t>(elements.size());
        elements.push_back(element);
      }
    }
    piece.row.push_back(static_cast<int32_t>(elements.size()));
    for (const int32_t element : elements) {
      piece.is_bend.push_back(all_.is_bend(element));
      std::vector<int32_t>& below = piece.below.emplace_back();
      if (all_.layer[static_cast<size_t>(element)] == static_cast<int32_t>(bottom)) continue;
      for (const int32_t other : all_.below[static_cast<size_t>(element)])
        below.push_back(number[static_cast<size_t>(other)]);
      std::sort(below.begin(), below.end());
    }
    const auto [found, is_new] = solved_.try_emplace(std::move(piece));
    Solved& solved = found->second;
    if (is_new) {
      solved.x = place_piece(found->first, order_piece(found->first), spacing);
      solved.rows = bottom - top;
    }
    solved.tops.push_back(top);
    for (size_t i = 0; i < elements.size(); ++i) x[static_cast<size_t>(elements[i])] = solved.x[i];
  }

  // The kind of piece that most rows belong to, if it repeats.
  void choose_leads() {
    const Solved* most = nullptr;
    const auto rows = [](const Solved& solved) { return solved.rows * solved.tops.size(); };
    for (const auto& [piece, solved] : solved_)
      if (solved.tops.size() > 1 && solved.rows > 1 &&
          (most == nullptr || rows(solved) > rows(*most)))
        most = &solved;
    if (most != nullptr) lead = most->tops;
  }

  const Layered& all_;
  std::map<Piece, Solved> solved_;
};

class Folding {
 public:
  Folding(const DrawingSpec& spec, const Layered& all, const Tall& tall)
      : spec_(spec),
        all_(all),
        tall_(tall),
        pitch_(spec.node_height + kRowGap),
        low_(all.rows.size()),
        high_(all.rows.size()),
        cut_(all.rows.size()),
        is_lead_(all.rows.size()) {
    for (size_t r = 0; r < all.rows.size(); ++r) {
      low_[r] = 1e30F;
      high_[r] = -1e30F;
      for (const int32_t element : all.rows[r]) {
        const float x = tall.x[static_cast<size_t>(element)];
        const float half = all.is_bend(element) ? 0 : spec.node_width / 2;
        low_[r] = std::min(low_[r], x - half);
        high_[r] = std::max(high_[r], x + half);
        cut_[r] += !all.below[static_cast<size_t>(element)].empty();
      }
    }
    for (const size_t row : tall.lead) is_lead_[row] = 1;
  }

  Drawing fold(double shape) {
    choose_columns(shape);
    set_columns();
    choose_lanes();
    Drawing drawing;
    for (int32_t node = 0; node < all_.nodes; ++node) {
      const Point middle = at(node);
      drawing.x.push_back(middle.x - spec_.node_width / 2);
      drawing.y.push_back(middle.y);
    }
    std::vector<int32_t> stubs(static_cast<size_t>(all_.nodes));
    for (size_t e = 0; e < spec_.edges.size(); ++e) {
      drawing.start.push_back(static_cast<int32_t>(drawing.points.size() / 2));
      if (all_.is_stub[e])
        add_stub(spec_.edges[e].to, stubs[static_cast<size_t>(spec_.edges[e].to)]++, drawing);
      else
        add_line(e, drawing);
    }
    drawing.start.push_back(static_cast<int32_t>(drawing.points.size() / 2));
    drawing.width = width_;
    drawing.height = height_;
    return drawing;
  }

 private:
  struct Point {
    float x, y;
  };
  struct Column {
    size_t first = 0, last = 0;  // rows
    float left = 0;              // where x = 0 is
    float top = 0;               // of its first row
    float gutter = 0;            // where lines come up on its left
  };

  // Greedy: each column ends at the cheapest cut near `height`.
  std::vector<size_t> ends_of_columns(double height) const {
    const size_t rows = all_.rows.size();
    std::vector<size_t> ends;
    for (size_t first = 0; first < rows; first = ends.back() + 1) {
      size_t best = rows - 1;
      double least = 1e300;
      for (size_t r = first; r < rows; ++r) {
        const double own = static_cast<double>(r + 1 - first) * pitch_;
        if (r + 1 == rows) {
          if (own <= 1.15 * height || least > 1e299) best = r;
          break;
        }
        if (own < 0.7 * height) continue;
        if (own > 1.15 * height && least < 1e299) break;
        const double cost = cut_[r] + (is_lead_[r] ? 0 : 0.5) + 0.2 * std::abs(own / height - 1);
        if (cost >= least) continue;
        least = cost;
        best = r;
      }
      ends.push_back(best);
    }
    return ends;
  }

  void choose_columns(double shape) {
    const size_t rows = all_.rows.size();
    std::vector<size_t> ends{rows - 1};
    if (rows > kFewRows) {
      double low = kFewRows / 4 * pitch_, high = static_cast<double>(rows + 1) * pitch_;
      for (int step = 0; step < 24; ++step) {
        const double middle = std::sqrt(low * high);
        ends = ends_of_columns(middle);
        const auto [width, height] = size_of(ends);
        (width / height > shape ? low : high) = middle;
      }
      ends = ends_of_columns(high);
    }
    columns_.clear();
    for (const size_t end : ends) {
      Column& column = columns_.emplace_back();
      column.first = columns_.size() == 1 ? 0 : columns_[columns_.size() - 2].last + 1;
      column.last = end;
    }
  }

  std::pair<double, double> size_of(const std::vector<size_t>& ends) const {
    double width = 0, height = 0;
    size_t first = 0;
    for (const size_t end : ends) {
      const auto [low, high] = extent(first, end);
      width += high - low + kGutter;
      height = std::max(height, static_cast<double>(end + 1 - first) * pitch_);
      first = end + 1;
    }
    return {width, height};
  }

  std::pair<float, float> extent(size_t first, size_t last) const {
    float low = low_[first], high = high_[first];
    for (size_t r = first; r <= last; ++r) {
      low = std::min(low, low_[r]);
      high = std::max(high, high_[r]);
    }
    return {low, high};
  }

  float height_of(const Column& column) const {
    return static_cast<float>(column.last + 1 - column.first) * pitch_ - kRowGap;
  }

  // The rows above the first common piece of a column, or of none.
  size_t stem_of(const Column& column) const {
    if (column.first > 0 && is_lead_[column.first - 1]) return 0;
    for (size_t r = column.first; r < column.last; ++r)
      if (is_lead_[r]) return r + 1 - column.first;
    return 0;
  }

  void set_columns() {
    size_t stem = 0, longest = 0;
    int32_t lanes = 0;
    column_of_.assign(all_.rows.size(), 0);
    for (size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      stem = std::max(stem, stem_of(column));
      longest = std::max(longest, column.last + 1 - column.first);
      if (c > 0) lanes = std::max(lanes, cut_[column.first - 1]);
      for (size_t r = column.first; r <= column.last; ++r) column_of_[r] = c;
    }
    // Equal pieces at equal heights, if that costs little.
    const bool lines_up = columns_.size() > 1 && 3 * stem <= longest;
    const float channels = columns_.size() > 1 ? kChannel + kLane * static_cast<float>(lanes) : 0;
    float x = kMargin;
    height_ = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      Column& column = columns_[c];
      if (c > 0) {
        column.gutter = x + kGutter / 2;
        x += kGutter + kLane * static_cast<float>(cut_[column.first - 1]);
      }
      const auto [low, high] = extent(column.first, column.last);
      column.left = x - low;
      column.top = kMargin + channels;
      const bool has_lead = column.first > 0 && is_lead_[column.first - 1];
      const size_t own = stem_of(column);
      if (lines_up && (own > 0 || has_lead)) column.top += static_cast<float>(stem - own) * pitch_;
      height_ = std::max(height_, column.top + height_of(column) + channels + kMargin);
      x += high - low;
    }
    width_ = x + kMargin;
  }

  // Lines that go on in the next column do not cross: the leftmost goes lowest, furthest right, and
  // comes in lowest again.
  void choose_lanes() {
    lane_.assign(all_.layer.size(), 0);
    for (size_t c = 1; c < columns_.size(); ++c) {
      std::vector<int32_t> row = all_.rows[columns_[c].first - 1];
      std::erase_if(row, [&](int32_t i) { return all_.below[static_cast<size_t>(i)].empty(); });
      std::stable_sort(row.begin(), row.end(), [&](int32_t a, int32_t b) {
        return tall_.x[static_cast<size_t>(a)] > tall_.x[static_cast<size_t>(b)];
      });
      for (size_t i = 0; i < row.size(); ++i)
        lane_[static_cast<size_t>(row[i])] = static_cast<float>(i) * kLane;
    }
  }

  // The middle of an element, at its top.
  Point at(int32_t element) const {
    const auto row = static_cast<size_t>(all_.layer[static_cast<size_t>(element)]);
    const Column& column = columns_[column_of_[row]];
    return {column.left + tall_.x[static_cast<size_t>(element)],
            column.top + static_cast<float>(row - column.first) * pitch_};
  }

  void add_stub(int32_t node, int32_t number, Drawing& drawing) const {
    const Point top = at(node);
    const float room = spec_.node_width / 2 - kStubGap;
    const float x = top.x - std::max(room - kStubGap * static_cast<float>(number), 0.0F);
    drawing.points.insert(drawing.points.end(), {x, top.y - kStub, x, top.y});
  }

  void add_line(size_t edge, Drawing& drawing) {
    line_.clear();
    int32_t from = spec_.edges[edge].from, to = spec_.edges[edge].to;
    if (all_.is_turned[edge]) std::swap(from, to);
    int32_t before = from;
    for (const int32_t bend : all_.bends[edge]) {
      connect(before, bend);
      before = bend;
    }
    connect(before, to);
    if (all_.is_turned[edge]) std::reverse(line_.begin(), line_.end());
    for (const Point& point : line_)
      drawing.points.insert(drawing.points.end(), {point.x, point.y});
  }

  void connect(int32_t upper, int32_t lower) {
    const Point a = at(upper), b = at(lower);
    const size_t from = column_of_[static_cast<size_t>(all_.layer[static_cast<size_t>(upper)])];
    const size_t to = column_of_[static_cast<size_t>(all_.layer[static_cast<size_t>(lower)])];
    add_point({a.x, a.y + spec_.node_height});
    if (from != to) {
      const Column& next = columns_[to];
      const float lane = lane_[static_cast<size_t>(upper)];
      const float bottom = columns_[from].top + height_of(columns_[from]) + kChannel + lane;
      const float widest = kLane * static_cast<float>(cut_[next.first - 1]);
      add_point({a.x, bottom});
      add_point({next.gutter + lane, bottom});
      const float top = next.top - kChannel - (widest - kLane - lane);
      add_point({next.gutter + lane, top});
      add_point({b.x, top});
    }
    add_point({b.x, b.y});
  }

  // What lies between two others on a vertical line is no point of its own.
  void add_point(Point point) {
    const size_t n = line_.size();
    if (n >= 2 && line_[n - 1].x == point.x && line_[n - 2].x == point.x) line_.pop_back();
    line_.push_back(point);
  }

  const DrawingSpec& spec_;
  const Layered& all_;
  const Tall& tall_;
  const float pitch_;
  std::vector<float> low_, high_;  // of each row
  std::vector<int32_t> cut_;       // lines that end in the next row, by where they come from
  std::vector<uint8_t> is_lead_;
  std::vector<Column> columns_;
  std::vector<size_t> column_of_;  // each row
  std::vector<float> lane_;        // of each element, where its lines leave a column
  std::vector<Point> line_;
  float width_ = 0, height_ = 0;
};

}  // namespace

Drawings draw(const DrawingSpec& spec, std::span<const double> shapes) {
  const Layered all = layers_of(spec);
  Drawings drawings;
  drawings.is_stub = all.is_stub;
  drawings.folds.resize(shapes.size());
  for (Drawing& fold : drawings.folds) fold.start = {0};
  if (spec.nodes == 0) return drawings;
  const Tall tall(all, Spacing{.node = spec.node_width});
  Folding folding(spec, all, tall);
  for (size_t i = 0; i < shapes.size(); ++i) drawings.folds[i] = folding.fold(shapes[i]);
  return drawings;
}

}  // namespace plumb::graph
