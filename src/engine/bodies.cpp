// SPDX-License-Identifier: Apache-2.0
#include "engine/bodies.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/onnx_edit.h"

namespace plumb::engine {
namespace {

constexpr int kMostRounds = 64;  // of branches within branches

bool is_standard(const graph::OnnxNode& node) {
  return node.domain.empty() || node.domain == "ai.onnx";
}
bool is_if(const graph::OnnxNode& node) {
  return node.type == "If" && is_standard(node) && !node.inputs.empty();
}
bool is_loop(const graph::OnnxNode& node) {
  return (node.type == "Loop" || node.type == "Scan") && is_standard(node);
}

int64_t count_operators(const graph::Graph& graph) { return std::ssize(graph.operators); }

// The conditions of the Ifs at the surface, as far as a run tells them.
Result<std::map<std::string, bool>> run_conditions(const LoadedModel& model, const Inputs& inputs,
                                                   const std::vector<Capture>& conditions,
                                                   int threads) {
  std::map<std::string, bool> values;
  const auto note = [&](const std::string& name, const TensorView& tensor) {
    if (!tensor.bytes.empty()) values[name] = tensor.bytes.front() != std::byte{0};
  };
  SessionOptions options;
  options.threads = threads;
  for (const Capture& condition : conditions)
    if (const auto fed = inputs.find(condition.tensor); fed != inputs.end())
      note(condition.tensor, fed->second.view());
    else
      options.captured.push_back(condition);
  if (options.captured.empty()) return values;
  auto session = model.engine().open(model.view(), options);
  if (!session) return session.error();
  auto ran = (*session)->run(inputs, [&](const Output& output) -> Result<void> {
    if (output.tensor) note(output.port.name, *output.tensor);
    return {};
  });
  if (!ran) return ran.error();
  return values;
}

// One round: every If at the surface becomes the branch it takes. False if there is none left.
Result<bool> open_branches(OpenBodies& open, const Inputs& inputs, int threads) {
  auto edited = graph::read_onnx(open.model.view().graph);
  if (!edited) return edited.error();
  std::vector<Capture> conditions;
  for (const graph::OnnxNode& node : edited->graph.nodes)
    if (is_if(node)) conditions.push_back({{}, 0, std::string(node.inputs.front())});
  if (conditions.empty()) return false;
  auto values = run_conditions(open.model, inputs, conditions, threads);
  if (!values) return values.error();
  int64_t inlined = 0;
  for (size_t i = edited->graph.nodes.size(); i-- > 0;) {  // from the end: places stay valid
    const graph::OnnxNode& node = edited->graph.nodes[i];
    if (!is_if(node)) continue;
    const auto value = values->find(std::string(node.inputs.front()));
    if (value == values->end()) continue;
    if (auto done = graph::inline_if(*edited, i, value->second); !done) return done.error();
    ++inlined;
  }
  if (inlined == 0) return false;
  open.branches += inlined;
  if (auto replaced = open.model.replace(graph::write_onnx(*edited)); !replaced)
    return replaced.error();
  return true;
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
  for (int round = 0; round < kMostRounds; ++round) {
    auto changed = open_branches(open, inputs, threads);
    if (!changed) return std::move(changed.error()).in(model.path());
    if (!*changed) break;
  }
  // An Identity for each output stands where an If was.
  open.not_taken =
      std::max<int64_t>(0, count_operators(model.graph()) - count_operators(open.model.graph()));
  open.graph = open.model.graph();
  if (with_loops)
    if (auto opened = open_loops(open); !opened) return std::move(opened.error()).in(model.path());
  return open;
}

}  // namespace plumb::engine
