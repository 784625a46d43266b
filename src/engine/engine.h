// SPDX-License-Identifier: Apache-2.0
//
// The one interface of everything that runs a model. Each engine is a plug-in library, opened in a
// worker process (see base/worker.h) when it is wanted: what it does to itself costs one call.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/worker.h"
#include "graph/data_place.h"
#include "plumb/result.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::engine {

// Elements in plain order, somewhere in memory that others keep.
struct TensorView {
  DType dtype = DType::kFloat32;
  Shape shape;
  Bytes bytes;
};

struct Tensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::byte> bytes;

  TensorView view() const { return {dtype, shape, bytes}; }
};

// What a model is fed, or gives.
struct Port {
  std::string name;
  std::optional<DType> dtype;     // nullopt: no tensor of numbers, see `kind`
  Shape shape;                    // -1: any size
  std::vector<std::string> axes;  // names of axes of any size, where the model has some
  std::string kind;               // "sequence", "text", ...: what it is if no tensor of numbers
};

// A tensor inside the model. Engines find it by what they know: its own name, or the operator's.
struct Capture {
  std::string op;
  int64_t output = 0;
  std::string tensor;
};

enum class Optimization : uint8_t { kDisabled, kBasic, kExtended, kAll };

struct Model {
  Bytes graph;               // the .onnx or .prototxt file; borrowed while a session is open
  Bytes weights;             // the .caffemodel file, if there is one
  graph::DataPlace data;     // where files that the model names may be
  std::vector<Port> inputs;  // as the file says, for engines that cannot tell
};

struct SessionOptions {
  Optimization optimization = Optimization::kDisabled;
  int threads = 1;                    // the same number gives the same bits
  std::vector<Capture> captured;      // what is handed out; empty: the outputs of the model
  std::filesystem::path saved_graph;  // the graph as the engine runs it is written here, if named
};

using Inputs = std::map<std::string, Tensor, std::less<>>;
using InputViews = std::map<std::string, TensorView, std::less<>>;

// One output of a run. No tensor: why not is in `problem`. It lives until the call returns, and
// longer for who keeps `owner`, if there is one.
struct Output {
  const Port& port;
  std::optional<TensorView> tensor;
  std::string problem;
  std::shared_ptr<const void> owner = nullptr;
};
using Take = std::function<Result<void>(const Output& output)>;

class Session {
 public:
  virtual ~Session() = default;
  virtual const std::vector<Port>& inputs() const = 0;   // those that have to be fed
  virtual const std::vector<Port>& outputs() const = 0;  // what a run hands out
  // Runs the model once and hands out `outputs` in order. The first error of `take` ends it.
  virtual Result<void> run_on(const InputViews& inputs, const Take& take) = 0;
  Result<void> run(const Inputs& inputs, const Take& take) {
    InputViews views;
    for (const auto& [name, tensor] : inputs) views.emplace(name, tensor.view());
    return run_on(views, take);
  }
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string version() const = 0;  // "ONNX Runtime 1.21.0"
  virtual Result<std::unique_ptr<Session>> open(const Model& model,
                                                const SessionOptions& options) = 0;
};

// A line of the table of engines.
struct EngineInfo {
  std::string_view name;     // what the user types: "onnxruntime"
  std::string_view summary;  // one line for `plumb formats`
};
std::span<const EngineInfo> engines();

// The engine of that name, in a worker of its own that ends with it. One call at a time is worked
// on.
Result<std::shared_ptr<Engine>> load_engine(std::string_view name, const WorkerLimits& limits = {});

// For the worker: the plug-in itself, in this process. It lives as long as the process.
Result<Engine*> open_engine(std::string_view name);

}  // namespace plumb::engine
