// SPDX-License-Identifier: Apache-2.0
//
// What somebody says of a tensor: its partner on the other side and how that is known, or that
// there is none and why. The one type for it: names, graphs, maps, the order of calls, TorchAir's
// graphs and the mapping files of other tools all answer with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/boxed_optional.h"
#include "dump/dump.h"
#include "graph/graph.h"
#include "pair/name_map.h"

namespace plumb::pair {

// Borrows names and entries from the dumps.
struct Pairing {
  // The golden tensor, as golden's dump has it: by name, or the very one where names do not tell.
  std::string_view op;
  dump::Slot slot = {};
  const dump::Entry* tensor = nullptr;
  bool is_own = false;                     // `tensor` is another tensor of the target
  std::string_view rule = {};              // "name", "origin", "map", ...
  std::string evidence = {};               // a clause; empty if the rule says it all
  std::string_view reason = {};            // a reason code if there is none, else empty
  std::string message = {};                // ... in words
  BoxedOptional<TensorName> missing = {};  // what the other side should have had
  const dump::Entry* owner = nullptr;  // of a golden tensor: a tensor of the operator it went into
  // Integers of a quantized model that stand for golden's numbers, by a scale if it is known.
  bool is_quantized = false;
  bool is_reshaped = false;  // by the target: the same elements in the same order
  std::optional<graph::Quantization> quantization = {};

  static Pairing with(std::string_view op, const dump::Slot& slot, std::string_view rule,
                      std::string evidence = {}) {
    Pairing pairing{op, slot};
    pairing.rule = rule;
    pairing.evidence = std::move(evidence);
    return pairing;
  }
  static Pairing with(const dump::Entry& tensor, std::string_view rule, std::string evidence = {}) {
    Pairing pairing = with(tensor.operator_name, tensor.slot, rule, std::move(evidence));
    pairing.tensor = &tensor;
    return pairing;
  }
  static Pairing none(std::string_view reason, std::string message = {},
                      const dump::Entry* owner = nullptr) {
    Pairing pairing{{}};
    pairing.reason = reason;
    pairing.message = std::move(message);
    pairing.owner = owner;
    return pairing;
  }
  bool has_partner() const { return reason.empty(); }
};

using Pairings = std::unordered_map<const dump::Entry*, Pairing>;  // by tensor of either side

}  // namespace plumb::pair
