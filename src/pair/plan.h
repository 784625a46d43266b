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
#include "pair/matcher.h"
#include "pair/pairing.h"

namespace plumb::pair {

// What few rows have.
struct RareFacts {
  const dump::Skipped* damaged = nullptr;         // the file that should have held a side
  BoxedOptional<TensorName> wanted = {};          // what a side alone would be compared with
  std::optional<io::Dequantize> dequantize = {};  // how integers stand for numbers, if it is known
  const dump::Entry* owner = nullptr;  // golden alone: a tensor of the operator it belongs to
  // How a dialect reads the two; null: in plain order.
  const io::ReadOrder* target_order = nullptr;
  const io::ReadOrder* golden_order = nullptr;
};

// One row of the result to be. What it points to belongs to the two dump sets.
struct PlannedRow {
  const dump::Entry* target = nullptr;
  const dump::Entry* golden = nullptr;
  std::string_view rule;    // how the two were paired; empty if they were not
  std::string_view reason;  // a reason code if there is nothing to compare, else empty
  SharedText evidence;
  SharedText message;          // the reason in words
  uint32_t index = 0;          // the operator's position in the order of execution
  bool is_quantized = false;   // integers of a quantized model stand for golden's numbers
  bool golden_is_own = false;  // `golden` is another tensor of the target set
  bool is_flat = false;        // the number of elements has to agree, shapes need not
  bool damaged_is_target = false;

  const RareFacts& rare() const;
  RareFacts& add_rare() { return rare_ ? *rare_ : rare_.emplace(); }

 private:
  BoxedOptional<RareFacts> rare_;
};

struct PlanOptions {
  // What is compared at all: decides which tensors can be partners. Empty: everything.
  std::function<bool(const dump::Entry&)> wants;
  // What is wanted of that, by the target's names: decides nothing else. Empty: everything.
  std::function<bool(const dump::Entry&)> shows;
  NameMap map;                       // what the user knows better
  const Matcher* matcher = nullptr;  // what the graphs say
  // What is known tensor by tensor, of either side; by default, the order of calls. A pair of the
  // tensors themselves may differ in shape.
  const Pairings* told = nullptr;
  bool told_all = false;  // a tensor that is not there has no partner
};

// Every entry of either set is in exactly one row. A damaged file stands in the rows of what it
// should have been compared with, or in one of its own. Rows are in order of execution.
std::vector<PlannedRow> make_plan(const dump::DumpSet& target, const dump::DumpSet& golden,
                                  const PlanOptions& options = {});

}  // namespace plumb::pair
