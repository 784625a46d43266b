// SPDX-License-Identifier: Apache-2.0
//
// What a model description says in short: how many operators of which types, what goes in and comes
// out, which tools made it. Weights are not read.
#pragma once

#include <map>
#include <span>

#include "graph/importers.h"

namespace plumb::scan {

// A tensor that goes into the model or comes out of it. Borrows from the graph.
struct ModelTensor {
  const graph::Operator* op = nullptr;  // null if the graph names none that there is
  std::string name;                     // "data", "conv1:0"
  const graph::Output* output = nullptr;
};

struct InspectedModel {
  std::string path;
  const graph::Importer* importer = nullptr;
  uint64_t file_bytes = 0;
  graph::Graph graph;

  std::vector<ModelTensor> inputs() const, outputs() const;
  std::map<std::string_view, size_t> types() const;  // how many operators of each
  size_t subgraphs() const;                          // graphs in the file, bodies of loops included
  size_t fused() const;                        // operators made of several of the original model
  size_t inserted() const;                     // by the compiler
  size_t quantizing() const;                   // whose scale is known
  std::vector<const graph::Operator*> chosen;  // by name, where some were asked for
};

// Null if the file is no model description; an error if it is one that cannot be read, or if no
// operator matches `patterns`, which choose some to be shown with what they read and give.
Result<std::unique_ptr<InspectedModel>> inspect_model(const std::string& path,
                                                      std::span<const std::string> patterns = {});

// Why `path` has no dumped tensors: it is a model, or `error`.
Error why_no_tensors(const std::string& path, Error error);

// Of schema plumb.inspect/1, with "model" instead of "tensors".
std::string to_json(const InspectedModel& model, bool command_line);

}  // namespace plumb::scan
