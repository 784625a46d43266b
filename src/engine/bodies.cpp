// SPDX-License-Identifier: Apache-2.0
#include "engine/bodies.h"

#include <algorithm>

#include "graph/onnx_bodies.h"

namespace plumb::engine {
namespace {

bool is_loop(const graph::OnnxNode& node) {
  return (node.type == "Loop" || node.type == "Scan") && node.is_standard();
}

int64_t count_operators(const graph::Graph& graph) { return std::ssize(graph.operators); }

// The conditions of the Ifs at the surface, as far as a run tells them.
Result<graph::Conditions> run_conditions(const LoadedModel& model, const graph::Branching& now,
                                         const Inputs& inputs, int threads) {
  graph::Conditions values;
  const auto note = [&](const std::string& name, const TensorView& tensor) {
    if (!tensor.bytes.empty()) values[name] = tensor.bytes.front() != std::byte{0};
  };
  SessionOptions options;
  options.threads = threads;
  for (const std::string& condition : now.conditions)
    if (const auto fed = inputs.find(condition); fed != inputs.end())
      note(condition, fed->second.view());
    else
      options.captured.push_back({{}, 0, condition});
  if (options.captured.empty()) return values;
  Model view = model.view();
  view.graph = now.file;
  auto session = model.engine().open(view, options);
  if (!session) return session.error();
  auto ran = (*session)->run(inputs, [&](const Output& output) -> Result<void> {
    if (output.tensor) note(output.port.name, *output.tensor);
    return {};
  });
  if (!ran) return ran.error();
  return values;
}

// Every If becomes the branch it takes.
Result<void> open_branches(OpenBodies& open, const Inputs& inputs, int threads) {
  auto inlined = graph::inline_branches(open.model.view().graph, [&](const graph::Branching& now) {
    return run_conditions(open.model, now, inputs, threads);
  });
  if (!inlined) return inlined.error();
  open.branches = inlined->branches;
  return inlined->branches == 0 ? Result<void>() : open.model.replace(std::move(inlined->file));
}

Result<void> open_loops(OpenBodies& open) {
  auto edited = graph::read_onnx(open.model.view().graph);
  if (!edited) return edited.error();
  bool is_edited = false;
  for (size_t i = 0; i < edited->graph.nodes.size(); ++i) {
    if (!is_loop(edited->graph.nodes[i])) continue;
    const std::string name = edited->graph.nodes[i].name;
    const std::string body = name + ".body";
    std::vector<std::string> tensors;
    for (const graph::Operator& op : open.graph.operators)
      if (op.subgraph == body && op.type != "Data")
        for (const graph::Output& output : op.outputs) tensors.push_back(output.name);
    auto exposed = graph::expose_loop(*edited, i, tensors);
    if (!exposed) return exposed.error();
    is_edited |= !exposed->empty();
    for (const graph::Exposed& one : *exposed) open.in_loops[body + "\n" + one.tensor] = one.output;
  }
  if (!is_edited) return {};
  return open.model.replace(graph::write_onnx(*edited));
}

}  // namespace

bool has_bodies(const LoadedModel& model) {
  return !model.is_caffe() &&
         std::any_of(model.graph().operators.begin(), model.graph().operators.end(),
                     [](const graph::Operator& op) { return !op.subgraph.empty(); });
}

Result<OpenBodies> open_bodies(const LoadedModel& model, const Inputs& inputs, int threads,
                               bool with_loops) {
  OpenBodies open{model, 0, 0, {}, {}};
  if (auto opened = open_branches(open, inputs, threads); !opened)
    return std::move(opened.error()).in(model.path());
  // An Identity for each output stands where an If was.
  open.not_taken =
      std::max<int64_t>(0, count_operators(model.graph()) - count_operators(open.model.graph()));
  open.graph = open.model.graph();
  if (with_loops)
    if (auto opened = open_loops(open); !opened) return std::move(opened.error()).in(model.path());
  return open;
}

}  // namespace plumb::engine
