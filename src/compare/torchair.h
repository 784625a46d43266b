// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of TorchAir's dumps belong together: the graph engine's (GE) against those of the
// FX graph it was made from, or against GE with fusion off. The graph texts beside the GE dump say
// which FX tensor an output stands for; names of fused operators are taken apart into their
// members; lists of operands are aligned by the number of elements.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compare/plan.h"
#include "graph/graph.h"

namespace plumb::compare {

struct TorchairOptions {
  std::vector<int64_t> ranks;            // only these; empty for all that both sides have
  std::optional<int64_t> fx_token_base;  // FX directory = token + this; unset: told by the tree
  const graph::Graph* graph = nullptr;   // another description of the target's model
};

// Borrows entries of both sets.
struct Torchair {
  Decisions decisions;  // one for every entry of either side
  struct Place {
    std::optional<int64_t> graph;  // number of its graph file, if there is one
    int64_t token = 0;
    bool is_common = false;  // golden has its rank, graph and token as well
  };
  std::vector<Place> places;             // parallel to the target's entries
  std::vector<std::string> graph_files;  // relative to the target's root
  std::vector<std::string> warnings;
};

// True for a GE dump against FX, or against another GE dump.
bool is_torchair(const dump::DumpSet& target, const dump::DumpSet& golden);

// Errors: no graph in the target, no rank in common, or which rank to take is not clear.
Result<Torchair> pair_torchair(const dump::DumpSet& target, const dump::DumpSet& golden,
                               const TorchairOptions& options = {});

// How the name of an operator that GE made comes from names of the graph.
struct Members {
  std::vector<std::string_view> names;  // in order; empty if it does not
  bool is_prefix = false;               // the one name, and something GE added behind it
};
class MemberNames {
 public:
  void add(std::string_view name);  // borrowed
  bool contains(std::string_view name) const { return names_.contains(name); }
  Members split(std::string_view name) const;

 private:
  std::unordered_set<std::string_view> names_;
  std::vector<size_t> lengths_;  // that occur, longest first
};

// Numbers of elements of two operand lists, or one of these.
inline constexpr int64_t kUnknownCount = -1;  // may be any
inline constexpr int64_t kNoTensor = -2;      // belongs to none
// Index pairs in order: position by position if all counts agree, else as many equal counts as
// possible in the order of both lists, the shifts between them as small as possible, and what is
// then left on both sides at one position.
std::vector<std::pair<size_t, size_t>> align_operands(std::span<const int64_t> target,
                                                      std::span<const int64_t> golden);

}  // namespace plumb::compare
