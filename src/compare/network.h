// SPDX-License-Identifier: Apache-2.0
//
// The target's graph as the result carries it, and which of its operators a row is of.
#pragma once

#include <memory>
#include <unordered_map>

#include "pair/matcher.h"
#include "plumb/row.h"

namespace plumb::compare {

// Borrows the matcher.
class NetworkOf {
 public:
  explicit NetworkOf(const pair::Matcher& matcher);

  const std::shared_ptr<const result::Network>& network() const { return network_; }
  void mark(result::Row& row) const;  // sets Row::node

 private:
  const pair::Matcher& matcher_;
  std::shared_ptr<const result::Network> network_;
  std::unordered_map<const graph::Operator*, int64_t> nodes_;
};

}  // namespace plumb::compare
