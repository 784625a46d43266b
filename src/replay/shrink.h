// SPDX-License-Identifier: Apache-2.0
//
// The smallest part of a model for which something still goes wrong, by delta debugging: parts of
// it are tried, ever smaller ones, until no single node can be left out. What goes wrong is told by
// a function, so that this file knows of no processes and runs nothing itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/onnx_cut.h"

namespace plumb::replay {

enum class Verdict : uint8_t {
  kFails,       // the fault is there
  kPasses,      // it is gone
  kUnresolved,  // nobody can tell: no valid model, no end, ...
};
std::string_view text_of(Verdict verdict);  // "fails", "passes", "unresolved"

// What is kept of a model.
struct Part {
  // Places in the model's graph, ascending. Constant nodes come along with those that read them.
  std::vector<size_t> nodes;
  // Outputs of the model that are none of the part, where something of their node is still used.
  std::set<std::string, std::less<>> dropped;
  bool folds_constants = false;  // values of Constant nodes become initializers
  bool drops_value_infos = false;

  bool operator==(const Part&) const = default;
  auto operator<=>(const Part&) const = default;
};
Part whole(const graph::OnnxModel& model);

// What is known about tensors inside the model, for those that become inputs.
struct Known {
  graph::Outside outside;
  std::map<std::string, graph::OnnxTensor, std::less<>> constants;  // what Constant nodes give
};

// The part as a model. Its outputs are those of the model that are not dropped, and the results of
// nodes that nobody reads any more: a tensor that is still read stays inside, so that what an
// engine fuses is not torn apart by making it visible.
Result<graph::OnnxModel> build(const graph::OnnxModel& model, const Part& part, const Known& known);

struct Checked {
  Verdict verdict = Verdict::kUnresolved;
  std::optional<int> status;  // of the command; nullopt: it was not run, or did not end
};

struct ShrinkStep {
  Part part;
  size_t nodes = 0;  // of the candidate, Constant nodes among them; 0: it could not be built
  Checked checked;
  double seconds = 0;
};

struct ShrinkWishes {
  std::function<Checked(const graph::OnnxModel& candidate)> check;
  std::function<void(const graph::OnnxModel& best)> improved;  // may be empty
  std::function<bool()> is_over;  // asked before each check: the user has had enough. May be empty
};

struct Shrunk {
  Part part;
  graph::OnnxModel model;
  std::vector<ShrinkStep> steps;  // everything that was tried, in order
  bool is_minimal = false;        // no single node can be left out; false: ended early
};

// The model itself must fail: that is not tried again here. No part is tried twice.
Shrunk shrink(const graph::OnnxModel& model, const Known& known, const ShrinkWishes& wishes);

}  // namespace plumb::replay
