// SPDX-License-Identifier: Apache-2.0
//
// Which rows show an output of the model, and which outputs no row shows: what users of the model
// see must have been compared, or the run does not pass.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pair/matcher.h"
#include "plumb/row.h"

namespace plumb::compare {

// Whether the user asked for a tensor; empty: for all.
using AsksFor = std::function<bool(const std::string& op, const std::string& slot)>;

// Sees all rows, then marks them. Borrows the graphs.
class ModelOutputs {
 public:
  // `golden`: a golden model that was run to be dumped, of which everything is known; may be null.
  ModelOutputs(const pair::Matcher& matcher, const graph::Graph* golden);

  void see(const result::Row& row);
  // Outputs of which no row was compared, by operator. Those that were not asked for are not
  // missed.
  std::vector<std::string> not_compared(const AsksFor& asks_for = {}) const;
  // Sets Row::is_model_output. Once all rows were seen.
  void mark(result::Row& row);
  // True if the graph knows the operator of a row that was marked, and gives its tensor to others.
  bool is_inner(const result::Row& row) const;

 private:
  // A tensor of a model: who makes it, and as which of its outputs.
  using Tensor = std::pair<std::string_view, int64_t>;

  std::vector<graph::Edge> places_of(const graph::Edge& output) const;
  bool is_compared(const graph::Edge& edge) const;

  const pair::Matcher& matcher_;
  const graph::Graph* golden_;
  std::set<Tensor> compared_;                                      // of the target
  std::set<std::pair<std::string, std::string>> golden_compared_;  // outputs: operator and slot
  std::set<std::string_view> golden_outputs_;                      // operators that give them
  using Shown = std::set<std::pair<const graph::Operator*, std::string>>;
  std::optional<Shown> shown_;  // operator and slot
};

}  // namespace plumb::compare
