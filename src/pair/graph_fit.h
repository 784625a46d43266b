// SPDX-License-Identifier: Apache-2.0
//
// Whether a graph describes the model that wrote a dump. A graph of another model or build leads
// tensors to the wrong partners or to none, and may say that a model is quantized which is not.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pair/scenario.h"

namespace plumb::pair {

// The dump itself shows a quantized model: by the type of an operator or the whole ending of its
// name, never by a word somewhere in it.
bool has_quantizing_operators(const dump::DumpSet& set);

// ... or by integers of 8 bits and less, where the graph says that the model is quantized.
bool is_quantized(const dump::DumpSet& set, const graph::Graph* graph);

// Operators of a dump and of a graph, each once; those that only change how values are stored are
// left out, because every version of a compiler inserts others.
struct GraphFit {
  size_t dumped = 0;                         // operators of the dump
  std::vector<std::string> unknown;          // of these, not in the graph
  size_t described = 0;                      // operators of the graph that write dumps
  std::vector<std::string_view> not_dumped;  // of these, not in the dump; borrowed from the graph

  // More than a quarter of the dump is unknown to the graph.
  bool is_poor() const { return unknown.size() * 4 > dumped; }
};

// Of a dump of several models, the one that the graph fits best.
GraphFit fit_of(const graph::Graph& graph, const dump::DumpSet& set);

// The graphs the user gave, with the files they come from.
struct GraphFiles {
  std::string graph, golden_graph, quant;
};

// Why the graphs cannot be trusted, a sentence each; empty if they fit. `mode` as for
// find_scenario: who says that a model is quantized is believed.
std::vector<std::string> graph_doubts(const dump::DumpSet& target, const dump::DumpSet& golden,
                                      const Graphs& graphs, const GraphFiles& files,
                                      std::string_view mode);

// What a graph that fits says of the dump beside that: operators that were not dumped. `wants`
// tells which the user asked for.
std::vector<std::string> graph_notes(const dump::DumpSet& target, const Graphs& graphs,
                                     std::string_view mode,
                                     const std::function<bool(const dump::Entry&)>& wants);

}  // namespace plumb::pair
