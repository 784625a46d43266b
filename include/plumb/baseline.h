// SPDX-License-Identifier: Apache-2.0
//
// How a run stands against an earlier one, its baseline: outputs that got worse, which fail it
// whatever its limits say, and operators that came, went or changed. judge/baseline.h fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/verdict.h"

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

// The numbers of a tensor that are held against each other; nullopt if undefined.
struct Standing {
  Verdict verdict = Verdict::kNotCompared;
  std::optional<double> cosine, rel_euclid;
};

// A tensor of the target that is worse or better than it was.
struct TensorChange {
  std::string operator_name, slot, graph;
  std::optional<int64_t> step, rank;
  bool is_output = false;  // it counts: worse fails the run
  bool is_worse = false;
  std::vector<std::string> reasons;  // "cosine", "rel_euclid", "verdict", "gone"
  Standing before;
  std::optional<Standing> after;  // nullopt: gone
};

enum class Change : uint8_t { kNew, kGone, kChanged };
std::string_view name_of(Change change);  // "new", "gone", "changed"
std::optional<Change> change_by_name(std::string_view name);

// An operator of the target.
struct OperatorChange {
  std::string operator_name, type;  // the type it has now, or had
  Change change = Change::kChanged;
  std::vector<std::string> details;  // of kChanged: "output:0 dtype float32 -> float16"
};

struct Baseline {
  std::string path;
  std::string version;                // of the program that wrote it
  std::vector<std::string> warnings;  // why the two runs may not be comparable
  // Whether a graph told the outputs of the model; otherwise every output tensor counts as one.
  bool outputs_known = false;
  int64_t outputs_held = 0;               // outputs that were held against the baseline
  std::vector<TensorChange> tensors;      // outputs first, worse before better, worst first
  std::vector<OperatorChange> operators;  // new, gone, changed; in order of execution

  int64_t count(bool is_output, bool is_worse) const;  // of tensors
  int64_t count(Change change) const;                  // of operators
  // No output is worse, and there was one to tell by.
  bool holds() const { return outputs_held > 0 && count(true, true) == 0; }
};

}  // namespace plumb::result
#pragma GCC visibility pop
