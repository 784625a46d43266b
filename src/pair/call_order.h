// SPDX-License-Identifier: Apache-2.0
//
// Calls of APIs and modules, "Functional.relu.2.backward", "Module.conv1.Conv2d.backward.2". The
// number counts the forward calls; where one side computes a forward pass again (recomputation), or
// the order of branches differs, it says nothing about the backward pass. So backward calls are
// numbered anew, in the order they ran.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pair/pairing.h"
#include "pair/scopes.h"

namespace plumb::pair {

// The parts of "Functional.relu.2.backward": `base` is "Functional.relu", `head` "2", `tail`
// "backward". nullopt if it is no such name.
struct CallName {
  std::string_view base, head, tail;
  bool is_backward = false;
};
std::optional<CallName> parse_call_name(std::string_view op);

// A call with all its tensors, which follow each other in the set.
struct Call {
  std::span<const dump::Entry> entries;  // at least one
  std::string scope;
  std::string name;  // backward calls numbered in the order they ran
  bool is_backward = false;
  int64_t turn = 0;  // of a backward call: how many of its API or module ran before

  const std::string& op() const { return entries.front().operator_name; }
  std::string key() const { return key_of(scope, name); }
  // With a length, so that no scope can pretend to be a scope and a name.
  static std::string key_of(std::string_view scope, std::string_view name);
};
std::vector<Call> calls_of(const dump::DumpSet& set, const Scopes& scopes);

// Of backward calls that belong to a golden call of another number. Nothing unless both are dumps
// of such calls.
Pairings pair_by_call_order(const dump::DumpSet& target, const dump::DumpSet& golden);

}  // namespace plumb::pair
