// SPDX-License-Identifier: Apache-2.0
//
// Cuts an operator out of the original model and replays it with the inputs that golden had and
// with those that the target really had. What comes out tells an error that the operator made from
// one that it was handed.
#pragma once

#include "plumb/run_context.h"
#include "replay/isolate_pack.h"
#include "result/replayed.h"

namespace plumb::replay {

struct IsolateOptions {
  std::string result;  // what `plumb compare --json` or `plumb run --keep --json` wrote
  std::string op, to;  // a name of the model or of the target; `to`: the last one of a range
  std::optional<int64_t> step;  // the first if not given
  std::string model;  // the ONNX file that golden was made with; empty: the one that was run
  std::string target, golden;       // where the dumps are now; empty: where the result says
  std::vector<std::string> inputs;  // NAME=FILE: inputs of the model that were not dumped
  std::string profile;              // empty: that of the result
  std::string engine = "onnxruntime";
  WorkerLimits limits;  // of the engine
};

struct Isolated {
  result::Replayed replayed;
  Reproduction reproduction;  // the model, what it was fed, and what came out
};

// What is odd is added to `warnings`, whether it ends in an error or not.
Result<Isolated> isolate(const IsolateOptions& options, RunContext& context,
                         std::vector<std::string>& warnings);

// The model that made the golden tensors: as named, else the one that the result says was run.
Result<std::string> original_model(const IsolateOptions& options, const result::Run& run);

}  // namespace plumb::replay
