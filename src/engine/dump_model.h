// SPDX-License-Identifier: Apache-2.0
//
// Runs a model once and saves what its operators computed: a file for each tensor, and dump.json,
// the index, with the exact names, types, shapes and edges (schema "plumb.dump/1", see
// docs/dump.md).
#pragma once

#include "base/run_context.h"
#include "engine/model.h"

namespace plumb::engine {

struct DumpWishes {
  std::filesystem::path directory;  // made if it is not there
  Optimization optimization = Optimization::kDisabled;
  int threads = 1;
  bool inputs = false;        // a file for each input of an operator, too
  bool outputs_only = false;  // nothing but what the model gives
  bool as_npz = false;        // one archive instead of a file for each tensor
  int64_t batch_outputs = 0;  // tensors held in memory at a time; 0: as many as memory allows
  std::function<bool(const std::string& op)> wants;  // empty: every operator
};

// One tensor of the model and where it is.
struct DumpedTensor {
  std::string op;
  int64_t output = 0;
  std::string tensor;
  std::string file;     // in the directory; empty: there is none
  std::string problem;  // ... because of this; empty: it was not asked for
  DType dtype = DType::kFloat32;
  Shape shape;
};

struct Dump {
  graph::Graph graph;                 // as it was run
  std::vector<DumpedTensor> tensors;  // of every operator, in order; inputs of the model first
  int64_t written = 0, bytes = 0, runs = 0;
  std::vector<std::string> warnings;
};

Result<Dump> dump_model(LoadedModel& model, const Inputs& inputs, const DumpWishes& wishes,
                        const RunContext& context);

// A tensor as an npy file; what numpy has no type for is widened. Says which type was written.
Result<DType> write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace plumb::engine
