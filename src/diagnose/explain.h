// SPDX-License-Identifier: Apache-2.0
//
// Explains a finished run: who introduced the error, why, and what to do next.
#pragma once

#include "diagnose/commands.h"
#include "diagnose/model_differences.h"
#include "diagnose/run_rule.h"
#include "diagnose/tensors.h"
#include "plumb/row.h"

namespace plumb::diagnose {

// What else is known of a run.
struct AtHand {
  const ModelDifferences* models = nullptr;  // how the two models differ; null: not known
  Invocation invocation;                     // for commands to go on with
};

// Fills findings and estimated own errors. A run without a difference has no findings. Where
// tensors are at hand, those of a few suspects are looked at; else the numbers of the rows have to
// do.
void explain(result::Run& run, Tensors tensors, const RunContext& context,
             const AtHand& at_hand = {});

// What to type to make this comparison again, if both sides are paths.
Invocation invocation_of(const Spec& spec);

// A comparison that was just made, with its tensors; where both models are known by their graphs,
// they are held against each other, too.
void explain_comparison(result::Run& run, const Session& session, const RunContext& context,
                        Invocation invocation);

}  // namespace plumb::diagnose
