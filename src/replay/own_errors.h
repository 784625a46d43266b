// SPDX-License-Identifier: Apache-2.0
//
// The error of every operator split into its own and what it was handed, by measurement: the golden
// model is cut apart at each tensor that the target shows, so that every operator reads what the
// target's operator really read, and all of them run at once. What comes out is what golden's
// operator makes of the target's inputs. Operators between two cuts, such as a fused group, share
// one error.
#pragma once

#include "engine/engine.h"
#include "graph/onnx_model.h"
#include "plumb/row.h"
#include "plumb/session.h"

namespace plumb::replay {

struct GoldenModel {
  const graph::OnnxModel& model;  // what golden was made with
  engine::Model view;             // ... for an engine
  engine::Engine& engine;
  // Somebody said so: fed with golden's inputs it has to give golden's outputs. Operators that do
  // not are left out, and if most do not, it is another model.
  bool must_prove_itself = false;
};

struct OwnErrors {
  int64_t measured = 0;  // rows
  // Spent in the engine: on opening the model that was cut apart, and on running it.
  double opening_s = 0, running_s = 0;
};

// Fills Row::own_error of the rows whose tensors the model gives. `ids`: of each row its place in
// the session's plan, -1 for none; empty if they are the same. What cannot be fed or run is left
// out.
Result<OwnErrors> measure_own_errors(const GoldenModel& golden, const Session& session,
                                     std::span<const RowId> ids, result::Run& run,
                                     const RunContext& context);

}  // namespace plumb::replay
