// SPDX-License-Identifier: Apache-2.0
#include "graph/drawing_layers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace plumb::graph {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

constexpr int32_t kLongSpan = 32;     // layers
constexpr int32_t kManyLong = 4;      // edges of one node
constexpr int64_t kBendsPerNode = 4;  // beyond that the longest edges are stubs
constexpr int32_t kWideRow = 64;      // nodes
constexpr int32_t kFanRow = 24;       // consumers of a node that has more than kWideRow of them
constexpr int kSlides = 8;

// Which edges close a cycle, when nodes are visited from each producer to its consumers.
std::vector<uint8_t> turned_edges(const DrawingSpec& spec) {
  const auto nodes = static_cast<size_t>(spec.nodes);
  Lists out(nodes);
  for (size_t e = 0; e < spec.edges.size(); ++e)
    out[static_cast<size_t>(spec.edges[e].from)].push_back(static_cast<int32_t>(e));
  std::vector<uint8_t> is_turned(spec.edges.size()), state(nodes);
  constexpr uint8_t kOpen = 1, kDone = 2;
  std::vector<std::pair<int32_t, size_t>> path;  // a node, and its next edge
  for (int32_t root = 0; root < spec.nodes; ++root) {
    if (state[static_cast<size_t>(root)] != 0) continue;
    path.push_back({root, 0});
    state[static_cast<size_t>(root)] = kOpen;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const auto& edges = out[static_cast<size_t>(node)];
      if (next == edges.size()) {
        state[static_cast<size_t>(node)] = kDone;
        path.pop_back();
        continue;
      }
      const auto edge = static_cast<size_t>(edges[next++]);
      const int32_t to = spec.edges[edge].to;
      uint8_t& there = state[static_cast<size_t>(to)];
      if (there == kOpen) {
        is_turned[edge] = 1;
      } else if (there == 0) {
        there = kOpen;
        path.push_back({to, 0});
      }
    }
  }
  return is_turned;
}

class Layering {
 public:
  Layering(const DrawingSpec& spec, Layered& all) : spec_(spec), all_(all) {
    const auto nodes = static_cast<size_t>(spec.nodes);
    all_.nodes = spec.nodes;
    // Large networks may have wide rows; a row that is wider than the rest goes on in the next.
    widest_ = std::max(kWideRow, static_cast<int32_t>(4 * std::sqrt(spec.nodes)));
    all_.is_turned = turned_edges(spec);
    all_.is_stub.assign(spec.edges.size(), 0);
    out_.resize(nodes);
    in_.resize(nodes);
    for (size_t e = 0; e < spec.edges.size(); ++e) {
      const auto [from, to] = ends(e);
      if (from == to) {
        all_.is_stub[e] = 1;
        continue;
      }
      out_[from].push_back(static_cast<int32_t>(to));
      in_[to].push_back(static_cast<int32_t>(from));
    }
  }

  void run() {
    assign();
    slide();
    stand_beside();
    choose_stubs();
    bend();
  }

 private:
  std::pair<size_t, size_t> ends(size_t edge) const {
    auto from = static_cast<size_t>(spec_.edges[edge].from);
    auto to = static_cast<size_t>(spec_.edges[edge].to);
    if (all_.is_turned[edge]) std::swap(from, to);
    return {from, to};
  }
  int32_t span(size_t edge) const {
    const auto [from, to] = ends(edge);
    return layer_[to] - layer_[from];
  }

  // Producers before consumers; among those that are free, in order of execution.
  std::vector<size_t> topological() const {
    std::vector<size_t> missing(in_.size()), order, heap;
    const auto push = [&](size_t node) {
      heap.push_back(node);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    for (size_t i = 0; i < in_.size(); ++i)
      if ((missing[i] = in_[i].size()) == 0) push(i);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      const size_t node = heap.back();
      heap.pop_back();
      order.push_back(node);
      for (const int32_t to : out_[node])
        if (--missing[static_cast<size_t>(to)] == 0) push(static_cast<size_t>(to));
    }
    return order;
  }

  int32_t& width(int32_t layer) {
    if (layer >= std::ssize(width_)) width_.resize(static_cast<size_t>(layer) + 1);
    return width_[static_cast<size_t>(layer)];
  }

  // What a node that has very many consumers shares them into: rows that make a square or so. What
  // has no edges at all stands like the consumers of nobody.
  struct Fan {
    int32_t most = 0;  // in a row; 0: any number
    int32_t layer = 0, count = 0;
  };
  void find_fans() {
    fans_.assign(in_.size() + 1, {});
    fan_of_.assign(in_.size(), -1);
    std::vector<int32_t> size(fans_.size());
    for (size_t i = 0; i < in_.size(); ++i) {
      const bool is_apart = in_[i].empty() && out_[i].empty();
      if (in_[i].size() != 1 && !is_apart) continue;
      fan_of_[i] = is_apart ? static_cast<int32_t>(in_.size()) : in_[i].front();
      ++size[static_cast<size_t>(fan_of_[i])];
    }
    for (size_t i = 0; i < fans_.size(); ++i)
      if (size[i] > kWideRow)
        fans_[i].most = std::max(kFanRow, static_cast<int32_t>(std::sqrt(size[i])));
  }
  Fan* fan_of(size_t node) {
    if (fan_of_[node] < 0) return nullptr;
    Fan& fan = fans_[static_cast<size_t>(fan_of_[node])];
    return fan.most > 0 ? &fan : nullptr;
  }

  // As high as producers allow, and where there is room.
  void assign() {
    order_ = topological();
    find_fans();
    layer_.assign(in_.size(), 0);
    for (const size_t node : order_) {
      int32_t layer = 0;
      for (const int32_t from : in_[node])
        layer = std::max(layer, layer_[static_cast<size_t>(from)] + 1);
      if (Fan* const fan = fan_of(node); fan != nullptr) {
        if (fan->count++ % fan->most == 0) fan->layer = fan->count == 1 ? layer : fan->layer + 1;
        layer = std::max(layer, fan->layer);
      }
      while (width(layer) >= widest_) ++layer;
      layer_[node] = layer;
      ++width(layer);
    }
  }

  // Down to their consumers, where that makes more edges shorter than longer.
  void slide() {
    for (int round = 0; round < kSlides; ++round) {
      bool has_moved = false;
      for (size_t k = order_.size(); k-- > 0;) {
        const size_t node = order_[k];
        const size_t outs = out_[node].size(), ins = in_[node].size();
        if (outs == 0 || outs < ins || (outs == ins && round % 2 == 1)) continue;
        if (fan_of(node) != nullptr) continue;  // where its row is
        int32_t last = std::numeric_limits<int32_t>::max();
        for (const int32_t to : out_[node])
          last = std::min(last, layer_[static_cast<size_t>(to)] - 1);
        while (last > layer_[node] && width(last) >= widest_) --last;
        if (last <= layer_[node]) continue;
        --width(layer_[node]);
        ++width(last);
        layer_[node] = last;
        has_moved = true;
      }
      if (!has_moved) break;
    }
    close_gaps();
  }

  // Layers that everybody left.
  void close_gaps() {
    std::vector<int32_t> place(width_.size());
    int32_t used = 0;
    for (size_t i = 0; i < width_.size(); ++i) {
      place[i] = used;
      used += width_[i] > 0;
    }
    for (int32_t& layer : layer_) layer = place[static_cast<size_t>(layer)];
    std::erase(width_, 0);
  }

  // What has no edges.
  void stand_beside() {
    for (size_t i = 0; i < spec_.beside.size(); ++i) {
      const int32_t other = spec_.beside[i];
      if (other < 0 || !in_[i].empty() || !out_[i].empty()) continue;
      int32_t layer = layer_[static_cast<size_t>(other)];
      while (width(layer) >= widest_) ++layer;
      --width(layer_[i]);
      ++width(layer);
      layer_[i] = layer;
    }
    close_gaps();
  }

  // Masks, tables of positions: what is read everywhere. And the longest edges, if all would bend
  // too often.
  void choose_stubs() {
    const size_t edges = spec_.edges.size();
    std::vector<int32_t> far(in_.size()), longest(in_.size());
    for (size_t e = 0; e < edges; ++e)
      if (!all_.is_stub[e] && span(e) > kLongSpan) ++far[ends(e).first];
    int64_t bends = 0;
    for (size_t e = 0; e < edges; ++e) {
      const auto [from, to] = ends(e);
      if (span(e) > kLongSpan && far[from] >= kManyLong) all_.is_stub[e] = 1;
      if (!all_.is_stub[e]) longest[from] = std::max(longest[from], span(e) - 1);
    }
    for (const int32_t length : longest) bends += length;
    const int64_t most = kBendsPerNode * std::max<int64_t>(spec_.nodes, 64);
    if (bends <= most) return;
    std::vector<size_t> by_length(in_.size());
    std::iota(by_length.begin(), by_length.end(), size_t{0});
    std::stable_sort(by_length.begin(), by_length.end(),
                     [&](size_t a, size_t b) { return longest[a] > longest[b]; });
    std::vector<uint8_t> is_cut(in_.size());
    for (const size_t node : by_length) {
      if (bends <= most || longest[node] < kLongSpan) break;
      bends -= longest[node];
      is_cut[node] = 1;
    }
    for (size_t e = 0; e < edges; ++e)
      if (is_cut[ends(e).first] && span(e) > kLongSpan) all_.is_stub[e] = 1;
  }

  // One chain of bends for all edges of a node.
  void bend() {
    all_.layer = layer_;
    all_.source.resize(in_.size());
    std::iota(all_.source.begin(), all_.source.end(), 0);
    all_.above.resize(in_.size());
    all_.below.resize(in_.size());
    all_.bends.resize(spec_.edges.size());
    Lists chains(in_.size());
    for (size_t e = 0; e < spec_.edges.size(); ++e) {
      if (all_.is_stub[e]) continue;
      const size_t from = ends(e).first, to = ends(e).second;
      std::vector<int32_t>& chain = chains[from];
      const auto needed = static_cast<size_t>(span(e) - 1);
      const auto tail = [&](size_t length) {
        return length == 0 ? static_cast<int32_t>(from) : chain[length - 1];
      };
      while (chain.size() < needed) {
        const int32_t element = all_.size();
        all_.layer.push_back(layer_[from] + 1 + static_cast<int32_t>(chain.size()));
        all_.source.push_back(static_cast<int32_t>(from));
        all_.above.emplace_back();
        all_.below.emplace_back();
        connect(tail(chain.size()), element);
        chain.push_back(element);
      }
      connect(tail(needed), static_cast<int32_t>(to));
      all_.bends[e].assign(chain.begin(), chain.begin() + static_cast<int64_t>(needed));
    }
    fill_rows();
  }

  void connect(int32_t upper, int32_t lower) {
    std::vector<int32_t>& list = all_.below[static_cast<size_t>(upper)];
    if (std::find(list.begin(), list.end(), lower) != list.end()) return;  // two edges, one line
    list.push_back(lower);
    all_.above[static_cast<size_t>(lower)].push_back(upper);
  }

  void fill_rows() {
    for (int32_t element = 0; element < all_.size(); ++element) {
      const auto layer = static_cast<size_t>(all_.layer[static_cast<size_t>(element)]);
      if (layer >= all_.rows.size()) all_.rows.resize(layer + 1);
      all_.rows[layer].push_back(element);
    }
    for (std::vector<int32_t>& row : all_.rows) {
      std::stable_sort(row.begin(), row.end(), [&](int32_t a, int32_t b) {
        return all_.source[static_cast<size_t>(a)] < all_.source[static_cast<size_t>(b)];
      });
      centre_trunks(row);
    }
  }

  // The line to the further rows of a fan goes down in the middle of each: at an end, each row
  // would stand half its width beside the one above.
  void centre_trunks(std::vector<int32_t>& row) const {
    std::vector<int32_t> trunks;
    std::copy_if(row.begin(), row.end(), std::back_inserter(trunks), [&](int32_t i) {
      return i >= all_.nodes &&
             fans_[static_cast<size_t>(all_.source[static_cast<size_t>(i)])].most > 0;
    });
    for (const int32_t trunk : trunks) {
      const int32_t source = all_.source[static_cast<size_t>(trunk)];
      std::vector<int32_t> sharing;
      for (const int32_t i : row)
        if (i < all_.nodes && fan_of_[static_cast<size_t>(i)] == source) sharing.push_back(i);
      if (sharing.empty()) continue;
      std::erase(row, trunk);
      row.insert(std::find(row.begin(), row.end(), sharing[sharing.size() / 2]), trunk);
    }
  }

  const DrawingSpec& spec_;
  Layered& all_;
  Lists out_, in_;
  std::vector<size_t> order_;
  int32_t widest_ = 0;                  // row, in nodes
  std::vector<Fan> fans_;               // of each node, and of nobody
  std::vector<int32_t> fan_of_;         // where each node is in fans_; -1
  std::vector<int32_t> layer_, width_;  // nodes of each layer
};

}  // namespace

Layered layers_of(const DrawingSpec& spec) {
  Layered all;
  if (spec.nodes > 0) Layering(spec, all).run();
  return all;
}

}  // namespace plumb::graph
