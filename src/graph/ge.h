// SPDX-License-Identifier: Apache-2.0
//
// What the graphs of Ascend's graph engine (GE) mean, whether they were written as JSON or as text:
// attributes that lead back to the original model, edges written "producer:output", names of types.
// The attributes are described in the documentation of CANN's accuracy comparison tools.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/memory_limit.h"

namespace plumb::graph {

// The attributes we read; all others are skipped without looking at their values.
enum class GeKey {
  kNone,
  kOriginalNames,   // of an operator: list of strings
  kIsMultiOp,       // boolean
  kL1Group,         // string, or integer
  kScale,           // number; of AscendQuant, like the next two
  kOffset,          // number
  kSqrtMode,        // boolean: the scale is applied twice
  kOriginName,      // of an output: string
  kOriginOutput,    // integer
  kOriginLayout,    // string
  kFallbackLayout,  // string; if there is no kOriginLayout
  kOriginShape,     // list of integers
  kFxTensorName,    // string: the tensor of the FX graph
};
GeKey ge_operator_key(std::string_view key);
GeKey ge_output_key(std::string_view key);

// One attribute's value. What the file does not have stays unset.
struct GeValue {
  std::optional<std::string> s;
  std::optional<int64_t> i;
  std::optional<double> f;
  std::optional<bool> b;
  std::vector<std::string> list_s;
  std::vector<int64_t> list_i;
};

// Keeps an attribute of the model that says how it was made; `value` is its text. Models come in
// any order of attributes, the graph's properties in that of our table.
bool is_ge_property(std::string_view key);
void set_ge_property(Graph& graph, std::string_view key, std::string_view value);

// The graph that an operator runs, by its name: of one that runs one and no other.
using GeCalls = std::unordered_map<std::string, std::string>;

// An operator while it is being read.
class GeOperator {
 public:
  Operator op;
  std::vector<std::string> calls;  // names of the graphs that it runs

  void set(GeKey key, GeValue value);
  static void set(Output& output, GeKey key, GeValue value);

  // "producer:output". Control edges and empty ones are dropped, as everybody counts inputs without
  // them. A malformed one keeps its place, with an empty producer.
  void add_input(std::string_view text);

  void tell_calls(GeCalls& all) const {
    if (calls.size() == 1) all.try_emplace(op.name, calls.front());
  }

  // The finished operator. Tells of malformed inputs.
  Operator finish(std::vector<std::string>& warnings) &&;

 private:
  std::string odd_input_;  // the first of them
  size_t odd_inputs_ = 0;
  std::optional<double> scale_, offset_;
  bool sqrt_mode_ = false;
};

// "DT_FLOAT16". nullopt for what has no plain elements (DT_STRING) or is not known.
std::optional<DType> ge_dtype(std::string_view name);

// Without the "_lxslice<digits>" that manual slicing appends to names.
std::string without_slice(std::string_view name);

// One graph of a file that has several.
struct GePart {
  std::string name;
  size_t end = 0;  // one past its last operator
};

// Tells every operator which part it stands in. False if the names would take too much memory.
bool name_subgraphs(Graph& graph, const std::vector<GePart>& parts, MemoryLimit& limit);

// Takes the outputs of the model from the first NetOutput operators; those of other graphs are the
// results of subgraphs. What a subgraph gives out is led back to the operator in it: a call is
// never dumped.
void set_model_outputs(Graph& graph, const GeCalls& calls);

}  // namespace plumb::graph
