// SPDX-License-Identifier: Apache-2.0
//
// Rules about a run as a whole: what is known beside its tensors (see plumb/circumstances.h)
// explains it, and no operator is accused. Each is asked once, after the rules about operators.
#pragma once

#include "diagnose/rule.h"

namespace plumb::diagnose {

struct RunCase {
  const result::Run& run;
  bool differs = false;  // some pair does not agree
  // By operators, most probable first.
  const std::vector<result::Finding>& found;

  const result::Circumstances& known() const { return run.circumstances; }
};

struct RunRule {
  std::string_view name;
  std::string_view cause;  // a word of docs/diagnosis.md
  std::string_view summary;
  std::span<const Threshold> thresholds;
  std::optional<result::Finding> (*explain)(const RunCase& of);
};
std::span<const RunRule> run_rules();

// Adds what they find, in its place among the findings. Asked again, it replaces what it added.
void explain_as_a_whole(result::Run& run);
void explain_as_a_whole(result::Run& run, bool is_different);  // as `differs` has told
// Some pair does not agree, or nobody can tell.
bool differs(const result::Run& run);

// For rules: the worst output of the model as evidence, any tensor where outputs are not known;
// nothing if none can be told.
std::optional<result::Evidence> worst_output(const result::Run& run);
// A drop of accuracy in points (percent of all samples); kUnknown if one of both is not known.
double drop_in_points(const std::optional<double>& from, const std::optional<double>& to);

}  // namespace plumb::diagnose
