// SPDX-License-Identifier: Apache-2.0
//
// Which tensor is compared with which, and what is not compared and why. Reads no data: the plan of
// twenty thousand tensors takes milliseconds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/boxed_optional.h"
#include "dump/dump.h"
#include "pair/choice.h"
#include "pair/matcher.h"
#include "pair/name_map.h"

namespace plumb::pair {

// One row of the result to be. What it points to belongs to the two dump sets.
struct PlannedRow {
  const dump::Entry* target = nullptr;
  const dump::Entry* golden = nullptr;
  const dump::Skipped* damaged = nullptr;  // the file that should have held a side
  bool damaged_is_target = false;
  std::string_view rule;  // how the two were paired; empty if they were not
  std::string evidence;
  std::string_view reason;           // a reason code if there is nothing to compare, else empty
  std::string message;               // ... in words
  BoxedOptional<TensorName> wanted;  // what a side alone would be compared with
  int64_t index = 0;                 // the operator's position in the order of execution
  bool is_quantized = false;         // integers of a quantized model stand for golden's numbers ...
  std::optional<io::Dequantize> dequantize;  // ... by a scale, if that is known
  bool golden_is_own = false;                // `golden` is another tensor of the target set
  bool is_flat = false;                      // the number of elements has to agree, shapes need not
  const dump::Entry* owner = nullptr;        // golden alone: a tensor of the operator it belongs to
};

// The partner of a target tensor where names do not tell it, or why a tensor of either side has
// none.
struct Decision {
  const dump::Entry* golden = nullptr;
  bool golden_is_own = false;
  std::string_view rule;
  std::string evidence;
  std::string_view reason;
  std::string message;
  const dump::Entry* owner = nullptr;  // of a golden tensor
  BoxedOptional<TensorName> wanted;    // what the other side should have had
};
using Decisions = std::unordered_map<const dump::Entry*, Decision>;

struct PlanOptions {
  // What is compared at all: decides which tensors can be partners. Empty: everything.
  std::function<bool(const dump::Entry&)> wants;
  // What is wanted of that, by the target's names: decides nothing else. Empty: everything.
  std::function<bool(const dump::Entry&)> shows;
  NameMap map;                       // what the user knows better
  const Matcher* matcher = nullptr;  // what the graphs say
  const Choices* choices = nullptr;  // what the map does not say; by default, the order of calls
  // If there, it decides all that the map does not, and shapes may differ.
  const Decisions* decisions = nullptr;
};

// Every entry of either set is in exactly one row. A damaged file stands in the rows of what it
// should have been compared with, or in one of its own. Rows are in order of execution.
std::vector<PlannedRow> make_plan(const dump::DumpSet& target, const dump::DumpSet& golden,
                                  const PlanOptions& options = {});

}  // namespace plumb::pair
