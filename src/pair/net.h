// SPDX-License-Identifier: Apache-2.0
//
// A graph by numbers, for those who follow its edges: who feeds whom, seen twice. The plain edges
// are those of the graph without constants. The main edges leave out what other versions of the
// same model may lack: operators that only hand values on, and what is computed from shapes and
// constants alone, which an optimiser makes a constant.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace plumb::pair {

inline constexpr int kNone = -1;

// The place of an operator in lists by operator.
inline size_t at(int op) { return static_cast<size_t>(op); }

// A tensor: an output of an operator.
struct Ref {
  int op = kNone;
  int64_t output = 0;
  auto operator<=>(const Ref&) const = default;
};

// What the shapes of two tensors say of them being the same one. Compilers store tensors in shapes
// of their own, and frameworks have axes in other orders: that says nothing.
enum class Shapes : char { kUnknown, kSame, kOtherOrder, kOther };

struct Edges {
  std::vector<std::vector<Ref>> inputs;                       // by operator
  std::vector<std::vector<std::pair<int, int64_t>>> readers;  // of any output: who, which output
  std::vector<Ref> outputs;                                   // of the model

  const std::vector<Ref>& in(int op) const { return inputs[static_cast<size_t>(op)]; }
  std::vector<int> readers_of(const Ref& tensor) const;  // each once
  bool is_output(const Ref& tensor) const;
};

// Borrows the graph.
struct Net {
  explicit Net(const graph::Graph& graph);

  const graph::Operator& at(int op) const { return graph.operators[static_cast<size_t>(op)]; }
  int size() const { return static_cast<int>(graph.operators.size()); }
  const std::string& kind(int op) const { return kinds[static_cast<size_t>(op)]; }
  // What the main edges are about; the others are led back to it, or are constants.
  bool is_main(int op) const { return is_main_[static_cast<size_t>(op)]; }
  bool is_transparent(int op) const { return is_transparent_[static_cast<size_t>(op)]; }
  bool is_constant(int op) const { return is_constant_[static_cast<size_t>(op)]; }
  bool is_counted(int op) const;  // a tensor of it can have a counterpart
  // Of the first output without axes of length 1, and these sizes sorted; nullopt: not known.
  const std::optional<Shape>& shape(int op) const { return shapes_[static_cast<size_t>(op)]; }
  const std::optional<Shape>& sizes(int op) const { return sizes_[static_cast<size_t>(op)]; }
  // Channels of a block where the first output lies in such, and the shape has them padded; else 1.
  int64_t block(int op) const { return blocks_[static_cast<size_t>(op)]; }
  int64_t outputs(int op) const { return std::max<int64_t>(1, std::ssize(at(op).outputs)); }
  // Those that it reads, of Constant operators, too.
  const std::vector<graph::Constant>& constants(int op) const {
    return constants_[static_cast<size_t>(op)];
  }

  const graph::Graph& graph;
  // Its types are those of a framework, which say all that an operator does. A compiler's may do
  // more: a Conv2D that also is an activation.
  bool is_exact = false;
  std::vector<std::string> kinds;
  Edges plain, main;
  std::vector<int> order;  // every operator after those that feed it; without those on a cycle
  std::vector<int> from_outputs;  // main ones by depth first search from the outputs: the same
                                  // order for the same network, however its file is sorted

 private:
  void read_edges();
  void sort();
  void find_constants();
  void contract();
  void walk_from_outputs();
  Ref source_of(Ref tensor) const;

  std::vector<bool> is_main_, is_transparent_, is_constant_, reads_unknown_;
  std::vector<std::optional<Shape>> shapes_, sizes_;
  std::vector<int64_t> blocks_;
  std::vector<std::vector<graph::Constant>> constants_;
};

// 1: both do the same of what their kind may do, as pooling takes the largest or the mean; -1: they
// do not; 0: that is not known.
int variants_speak(const Net& a, int own, const Net& b, int other);
std::string_view variant_of(const Net& net, int op);

Shapes shapes_of(const Net& a, const Ref& own, const Net& b, const Ref& other);
// Known, and equal axis by axis.
bool is_same_shape(const Net& a, const Ref& own, const Net& b, const Ref& other);

}  // namespace plumb::pair
