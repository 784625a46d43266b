// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of an ONNX model are in the two dumps that a result compared. The result's rows
// tell which target tensor stands for which golden one; the golden dump has the model's own names.
#pragma once

#include <set>
#include <unordered_map>

#include "dump/dump.h"
#include "engine/engine.h"
#include "graph/graph.h"
#include "graph/onnx_wiring.h"
#include "pair/names.h"
#include "result/json_read.h"

namespace plumb::replay {

// A tensor on one side; null where it was not dumped.
struct Source {
  const dump::DumpSet* set = nullptr;
  const dump::Entry* entry = nullptr;
};

struct TensorSources {
  Source target, golden;
  std::string place;                // "conv1 output:0", as the golden dump calls it
  bool is_fused = false;            // the target has no such tensor, since it fused the operator
  std::string operator_name, slot;  // on the target's side, else on golden's
};

class Sources {
 public:
  // `step`: the one to look at; by default the first. Borrows the run.
  static Result<Sources> open(const result::Run& run, const std::string& target,
                              const std::string& golden, std::optional<int64_t> step);
  // The model whose tensors are looked for, from now on: borrowed.
  void bind(const graph::OnnxModel& model);

  // The node that a name means: of the model, else the one that a target operator stands for.
  Result<size_t> find_node(std::string_view name) const;

  TensorSources of_output(std::string_view tensor) const;
  // What `part` reads: a target's own dumped inputs come before the outputs of others.
  TensorSources of_input(std::string_view tensor, std::span<const size_t> part) const;

  // Places in OnnxGraph::nodes.
  std::optional<size_t> producer(std::string_view tensor) const;
  std::vector<size_t> readers(std::string_view tensor) const;

 private:
  using Rows = std::vector<const result::Row*>;
  const Rows& golden_rows(std::string_view op, std::string_view slot) const;
  const Rows& rows_of_tensor(std::string_view tensor) const;
  Source target_of(const result::Row& row) const;
  Source golden_of(const result::Row& row) const;
  void read_through_inserted(const std::set<std::string_view>& readers,
                             TensorSources& sources) const;
  std::vector<std::string> inserted_between(const graph::Edge& read,
                                            const dump::Entry& source) const;

  const graph::OnnxModel* model_ = nullptr;
  std::unique_ptr<dump::DumpSet> target_, golden_;
  Rows rows_;                                 // of the step
  pair::Names golden_names_;                  // operators
  std::optional<graph::Graph> target_graph_;  // if the dump brings it along
  std::unordered_map<std::string_view, const graph::Operator*> target_operators_;
  std::set<std::string_view> paired_;                // target operators with a counterpart
  std::unordered_map<std::string, Rows> by_golden_;  // "operator\nslot"
  std::unordered_map<std::string, const dump::Entry*> target_entries_, golden_entries_;
  struct Place {
    size_t node = 0;
    size_t output = 0;
  };
  std::unordered_map<std::string_view, Place> producers_;
};

// A tensor in memory, in plain order.
Result<engine::Tensor> load(const Source& source);

}  // namespace plumb::replay
