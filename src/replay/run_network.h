// SPDX-License-Identifier: Apache-2.0
//
// The model that one side ran, as a network for rows that were paired without graphs: results of
// other tools, called by tensor, and records of programs have neither order nor edges of their own.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "engine/dump_model.h"
#include "plumb/network.h"
#include "plumb/row.h"

namespace plumb::replay {

class RunNetwork {
 public:
  // `by_tensor`: rows have the names of tensors, not of operators.
  RunNetwork(const engine::Dump& given, bool by_tensor);

  const std::shared_ptr<const result::Network>& network() const { return network_; }
  // Sets the row's node, and whether it is an output of the model.
  void mark(result::Row& row) const;

 private:
  std::shared_ptr<const result::Network> network_;
  std::unordered_map<std::string, int64_t> nodes_;  // by the name that rows have
};

}  // namespace plumb::replay
