// SPDX-License-Identifier: Apache-2.0
//
// What the outputs of a quantized model come to over all samples. A list of class scores is there
// for the class that it puts first, so that decides beside the limits, and over the set: rounding
// exchanges classes that were nearly tied. Shares are judged by the scores that they are made of.
#pragma once

#include <map>
#include <span>

#include "graph/graph.h"
#include "plumb/row.h"
#include "replay/scores.h"

namespace plumb::replay {

inline constexpr const char* kQuantizedProfile = "quantized";

// By operator and slot of golden, as rows have them.
struct OutputPlace {
  std::string op, slot;
  auto operator<=>(const OutputPlace&) const = default;
};
// Outputs of shares and the scores they are made of.
using ScoresBehind = std::map<OutputPlace, OutputPlace>;
ScoresBehind scores_behind_outputs(const graph::Graph& golden);

// Settles the verdicts of the rows of outputs, once all samples were compared.
void judge_quantized_outputs(const ScoresBehind& behind, std::span<const Scores::Counts> classes,
                             result::Run& run);

}  // namespace plumb::replay
