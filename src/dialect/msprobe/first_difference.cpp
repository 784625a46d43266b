// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/first_difference.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "dialect/msprobe/row_name.h"

namespace plumb::msprobe {
namespace {

// Who sends and who receives; all do both in most kinds of communication.
enum class Role : uint8_t { kLink, kSource, kDestination };

struct PointToPoint {
  std::string_view api, opposite;
};
constexpr PointToPoint kPointToPoint[] = {
    {"send", "recv"},
    {"recv", "send"},
    {"isend", "irecv"},
    {"irecv", "isend"},
    {"send_object_list", "recv_object_list"},
    {"recv_object_list", "send_object_list"},
};

const PointToPoint* point_to_point(std::string_view api) {
  const auto found = std::find_if(std::begin(kPointToPoint), std::end(kPointToPoint),
                                  [&](const PointToPoint& each) { return each.api == api; });
  return found == std::end(kPointToPoint) ? nullptr : found;
}

// A call that communicates, with the differing calls between the one before and itself.
struct Node {
  size_t rank = 0, call = 0;
  std::string_view api;
  Role role = Role::kLink;
  std::vector<int64_t> peers;  // ranks; empty: all
  int64_t layer = 0;           // the round of communication
  int64_t position = 0;        // among the calls since the communication before
  struct Computation {
    size_t call = 0;
    int64_t position = 0;
  };
  std::vector<Computation> before;
  std::vector<Node*> connected;
  bool differs = false;

  bool matters() const { return differs || !before.empty(); }
};

class Search {
 public:
  explicit Search(std::span<const RankCalls> ranks) : ranks_(ranks), nodes_(ranks.size()) {}

  std::vector<FirstDifference> run() {
    auto found = before_communication();
    if (!found.empty()) return found;
    for (size_t r = 0; r < ranks_.size(); ++r) add_nodes(r);
    for (size_t r = 0; r < ranks_.size(); ++r) connect(r);
    found = in_communication();
    return found.empty() ? after_ : found;
  }

 private:
  std::vector<FirstDifference> before_communication() const {
    std::vector<FirstDifference> found;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const std::vector<Call>& calls = ranks_[r].calls;
      const auto first = std::find_if(calls.begin(), calls.end(), [](const Call& call) {
        return !is_ignored(call.name) && (call.differs || is_communication(call.name));
      });
      if (first != calls.end() && !is_communication(first->name))
        found.push_back({r, static_cast<size_t>(first - calls.begin())});
    }
    return found;
  }

  void add_nodes(size_t r) {
    const std::vector<Call>& calls = ranks_[r].calls;
    std::vector<Node>& nodes = nodes_[r];
    std::vector<Node::Computation> before;
    int64_t position = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (is_ignored(calls[i].name)) continue;
      if (!is_communication(calls[i].name)) {
        if (calls[i].differs) before.push_back({i, position});
        ++position;
        continue;
      }
      Node& node = nodes.emplace_back(node_of(r, i));
      node.layer = std::ssize(nodes) - 1;
      node.position = std::exchange(position, 0);
      node.before = std::exchange(before, {});
    }
    if (!before.empty()) after_.push_back({r, before.front().call});
  }

  Node node_of(size_t r, size_t i) const {
    const Call& call = ranks_[r].calls[i];
    const int64_t own = ranks_[r].rank;
    Node node;
    node.rank = r;
    node.call = i;
    node.api = function_of(call.name);
    node.differs = call.differs;
    node.peers = call.group;
    if (call.source)
      node.role = *call.source == own ? Role::kSource : Role::kDestination;
    else if (call.destination)
      node.role = *call.destination == own ? Role::kDestination : Role::kSource;
    if (point_to_point(node.api) != nullptr && (call.source || call.destination))
      node.peers = {call.source ? *call.source : *call.destination};
    return node;
  }

  // Each call with the first of its kind on every later rank that is not yet connected with this
  // rank. What is connected is of the same round; within a rank rounds follow each other.
  void connect(size_t r) {
    using Kind = std::tuple<size_t, std::string_view, Role>;
    std::map<Kind, std::vector<Node*>> free;  // latest first
    for (size_t other = r + 1; other < ranks_.size(); ++other)
      for (auto node = nodes_[other].rbegin(); node != nodes_[other].rend(); ++node)
        free[{other, node->api, node->role}].push_back(&*node);
    int64_t least = 0;
    for (Node& node : nodes_[r]) {
      node.layer = std::max(node.layer, least);
      least = node.layer + 1;
      const PointToPoint* directed = point_to_point(node.api);
      const Role role = node.role == Role::kSource        ? Role::kDestination
                        : node.role == Role::kDestination ? Role::kSource
                                                          : Role::kLink;
      for (size_t other = r + 1; other < ranks_.size(); ++other) {
        if (!takes_part(node.peers, ranks_[other].rank)) continue;
        const auto list = free.find({other, directed ? directed->opposite : node.api, role});
        if (list == free.end()) continue;
        const auto found =
            std::find_if(list->second.rbegin(), list->second.rend(),
                         [&](const Node* each) { return takes_part(each->peers, ranks_[r].rank); });
        if (found == list->second.rend()) continue;
        (*found)->layer = node.layer;
        (*found)->connected.push_back(&node);
        node.connected.push_back(*found);
        list->second.erase(std::next(found).base());
      }
    }
  }

  static bool takes_part(const std::vector<int64_t>& peers, int64_t rank) {
    return peers.empty() || std::find(peers.begin(), peers.end(), rank) != peers.end();
  }

  // The earliest round of each rank in which something differs, with all that take part in it.
  std::vector<FirstDifference> in_communication() {
    std::set<const Node*> seen;
    std::vector<Node*> open;
    for (std::vector<Node>& nodes : nodes_) {
      Node* first = nullptr;
      for (Node& node : nodes)
        if (node.matters() && (first == nullptr || node.layer < first->layer)) first = &node;
      if (first != nullptr && seen.insert(first).second) open.push_back(first);
    }
    using Moment = std::pair<int64_t, int64_t>;  // round, and position before it
    std::map<Moment, std::vector<FirstDifference>> found;
    while (!open.empty()) {
      Node& node = *open.back();
      open.pop_back();
      for (Node* other : node.connected)
        if (other->matters() && seen.insert(other).second) open.push_back(other);
      for (const Node::Computation& each : node.before)
        found[{node.layer, each.position}].push_back({node.rank, each.call});
      if (node.differs) found[{node.layer, node.position}].push_back({node.rank, node.call});
    }
    if (found.empty()) return {};
    std::vector<FirstDifference> first = std::move(found.begin()->second);
    std::sort(first.begin(), first.end(), [](const FirstDifference& a, const FirstDifference& b) {
      return std::tie(a.rank, a.call) < std::tie(b.rank, b.call);
    });
    return first;
  }

  std::span<const RankCalls> ranks_;
  std::vector<std::vector<Node>> nodes_;  // by rank
  std::vector<FirstDifference> after_;    // behind the last communication
};

}  // namespace

bool is_communication(std::string_view call) {
  constexpr std::string_view kLibraries[] = {"Distributed", "MintDistributed",
                                             "communication.comm_func"};
  // Others are made of these words: isend, all_reduce, reduce_scatter_tensor.
  constexpr std::string_view kWords[] = {"send",   "recv",    "broadcast", "reduce",
                                         "gather", "scatter", "all_to_all"};
  return std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](std::string_view library) { return call.starts_with(library); }) &&
         std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) {
           return call.find(word) != std::string_view::npos;
         });
}

bool is_ignored(std::string_view call) {
  constexpr std::string_view kIgnored[] = {"Torch.empty", "Torch.fill", "Tensor.__setitem__"};
  return std::any_of(std::begin(kIgnored), std::end(kIgnored), [&](std::string_view each) {
    return call.find(each) != std::string_view::npos;
  });
}

std::vector<FirstDifference> first_differences(std::span<const RankCalls> ranks) {
  return Search(ranks).run();
}

}  // namespace plumb::msprobe
