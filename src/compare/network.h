// SPDX-License-Identifier: Apache-2.0
//
// The target's graph as the result carries it, and which of its operators a row is of.
#pragma once

#include <memory>
#include <unordered_map>

#include "compare/session_state.h"
#include "plumb/row.h"

namespace plumb::compare {

// Borrows the state.
class NetworkOf {
 public:
  explicit NetworkOf(const SessionState& state);

  const std::shared_ptr<const result::Network>& network() const { return network_; }  // or null
  void mark(RowId id, result::Row& row) const;                                        // Row::node

 private:
  void add_graph(const graph::Graph& graph);

  const SessionState& state_;
  std::shared_ptr<const result::Network> network_;
  std::unordered_map<const graph::Operator*, int64_t> nodes_;
  std::vector<int64_t> by_entry_;  // of the target; empty if names tell
};

}  // namespace plumb::compare
