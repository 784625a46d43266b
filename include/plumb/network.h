// SPDX-License-Identifier: Apache-2.0
//
// The target's network as a result carries it: enough to follow an error from operator to operator,
// and to draw it, without the files that described the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

struct NetworkNode {
  std::string name, type;
  std::vector<std::string> origins;  // operators of the original model that it was made from
  bool is_output = false;            // gives an output of the model
};

struct NetworkEdge {
  int64_t from = 0, output = 0;  // a node, and which of its outputs
  int64_t to = 0, input = 0;
};

struct Network {
  std::vector<NetworkNode> nodes;  // in order of execution, as far as the graph tells
  std::vector<NetworkEdge> edges;  // by `to`, then by `input`
};

}  // namespace plumb::result
#pragma GCC visibility pop
