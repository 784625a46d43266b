// SPDX-License-Identifier: Apache-2.0
//
// The graph texts beside a GE dump of TorchAir, and what they say of operators: their names, what
// GE made of them, and which FX tensors their outputs stand for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dump/dump.h"
#include "graph/graph.h"
#include "pair/member_names.h"

namespace plumb::pair {

using Rank = std::optional<int64_t>;

// The number behind a word: 3 of "graph_3_rank_0" behind "graph_".
std::optional<int64_t> number_behind(std::string_view name, std::string_view word);

// "mm-aten.mm.default.OUTPUT.0" as the node and 0.
std::optional<std::pair<std::string_view, int64_t>> fx_tensor(std::string_view name);

// What the files of one model say, the first file first. Borrows from their graphs.
class TorchairModel {
 public:
  void add(const graph::Graph& graph);

  // The file that comes first; null if there is none.
  const graph::Graph* first() const { return first_; }
  const graph::Operator* find(std::string_view name) const { return get(by_name_, name); }
  // As GE made it, with what it was made from.
  const graph::Operator* made(std::string_view name) const { return get(made_, name); }
  Members members_of(std::string_view name) const;
  // The graph's operator that an FX node became; empty if none did.
  std::string_view made_from_fx(std::string_view node) const;

 private:
  using Map = std::unordered_map<std::string_view, const graph::Operator*>;
  static const graph::Operator* get(const Map& map, std::string_view name);
  const graph::Graph* first_ = nullptr;
  Map by_name_, made_;
  std::unordered_map<std::string_view, std::string_view> fx_;
  MemberNames names_;
};

// All models of a side, by rank and number.
struct TorchairModels {
  std::vector<graph::Graph> graphs;
  std::map<Rank, std::map<int64_t, TorchairModel>> by_rank;
  std::vector<std::string> files;

  // Files of a rank; those that name no rank belong to each.
  const std::map<int64_t, TorchairModel>& of(Rank rank) const;
};

// `extra` is another description of each model, or null. What cannot be read costs a warning.
TorchairModels load_models(const dump::DumpSet& set, const graph::Graph* extra,
                           std::vector<std::string>& warnings);

// True if the set has such a text beside its tensors.
bool has_torchair_graph(const dump::DumpSet& set);

}  // namespace plumb::pair
