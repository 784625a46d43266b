// SPDX-License-Identifier: Apache-2.0
//
// Runs a model once and saves what its operators computed: a file for each tensor, and dump.json,
// the index, with the exact names, types, shapes and edges (schema "plumb.dump/1", see
// docs/dump.md). Or keeps it in memory, for whoever compares it at once; what is too much for
// memory is mapped from files that no directory lists.
#pragma once

#include "engine/model.h"
#include "plumb/run_context.h"

namespace plumb::engine {

struct DumpWishes {
  Optimization optimization = Optimization::kDisabled;
  int threads = 1;
  bool inputs = false;        // a file for each input of an operator, too
  bool outputs_only = false;  // nothing but what the model gives
  bool scores = false;        // ... and the scores such shares are made of, as they are read
  bool as_npz = false;        // one archive instead of a file for each tensor
  bool synced = true;         // the index is on the disk when done; a scratch dump need not be
  int64_t batch_outputs = 0;  // tensors held in memory at a time; 0: as many as memory allows
  int64_t kept_bytes = 0;     // of tensors that `keep` holds in memory, not files; 0: the same
  std::function<bool(const std::string& op)> wants;  // empty: every operator
};

// One tensor of the model and where it is.
struct DumpedTensor {
  std::string op;
  int64_t output = 0;
  std::string tensor;
  std::string file;     // in the directory; empty: there is none
  std::string member;   // of an archive
  std::string problem;  // ... because of this; empty: it was not asked for
  DType dtype = DType::kFloat32;
  Shape shape;
  std::string layout;  // of `shape`, if it is not plain: "NC1HWC0"
  // Of one that is kept in memory; `owner` keeps the bytes alive.
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

inline constexpr const char* kSavedGraph = "optimized.onnx";

struct Dump {
  // As it was run; that of the next run, too, unless the inputs decide what is run.
  std::shared_ptr<const graph::Graph> graph;
  std::vector<int64_t> timestamps;    // of its operators, the same in all runs
  std::vector<DumpedTensor> tensors;  // of every operator, in order; inputs of the model first
  int64_t written = 0, bytes = 0, runs = 0;
  bool has_saved_graph = false;  // kSavedGraph: what the engine made of the model
  std::vector<std::string> notes;
  std::vector<std::string> doubts;  // why this may not be what the engine computes
};

// Dumps a model run by run; sessions stay open from one to the next where memory allows.
class ModelDumper {
 public:
  // Borrows the model.
  ModelDumper(LoadedModel& model, DumpWishes wishes);
  ~ModelDumper();
  ModelDumper(ModelDumper&&) noexcept;

  // The directory is made if it is not there.
  Result<Dump> dump(const Inputs& inputs, const std::filesystem::path& directory,
                    const RunContext& context);
  // The same, in memory, with the types that files would have; and in files, too, if a directory is
  // named.
  Result<Dump> keep(const Inputs& inputs, const std::filesystem::path& directory,
                    const RunContext& context);

 private:
  Result<Dump> run(const Inputs& inputs, const std::filesystem::path& directory, bool in_memory,
                   const RunContext& context);
  struct State;
  std::unique_ptr<State> state_;
};

int64_t count_tensors(const LoadedModel& model);  // for progress

// The tensor in a type that numpy has; what it has none for is widened.
Tensor portable(const TensorView& tensor);
// A tensor as an npy file; what numpy has no type for is widened. Says which type was written.
Result<DType> write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace plumb::engine
