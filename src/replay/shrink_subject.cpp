// SPDX-License-Identifier: Apache-2.0
#include "replay/shrink_subject.h"

#include <fmt/format.h>

#include "engine/model.h"
#include "graph/onnx_external.h"
#include "graph/onnx_wiring.h"

namespace plumb::replay {
namespace {

using graph::OnnxModel;
using graph::OnnxNode;

std::vector<std::string> inner_tensors(const OnnxModel& model) {
  std::vector<std::string> names;
  for (const OnnxNode& node : model.graph.nodes)
    for (std::string_view output : node.outputs)
      if (!output.empty()) names.emplace_back(output);
  return names;
}

// The model's inputs for a run that is about types: batches of any size have one sample.
std::vector<engine::Port> ports_of(const engine::LoadedModel& model,
                                   const input::SampleOptions& inputs) {
  std::vector<engine::Port> ports = model.inputs();
  if (inputs.inputs.empty() && inputs.shapes.empty())
    for (engine::Port& port : ports)
      if (!port.shape.empty() && port.shape[0] < 0) port.shape[0] = 1;
  return ports;
}

// What the model is fed for that run.
Result<engine::Inputs> load_inputs(const engine::LoadedModel& model, const LearnOptions& options,
                                   Remarks& remarks) {
  auto samples = input::open_samples(options.inputs, ports_of(model, options.inputs));
  if (!samples) return samples.error();
  remarks.warnings = samples->warnings();
  if (options.keeps_values) remarks.notes = samples->notes();  // any numbers have good types
  auto sample = samples->load(0);
  if (!sample) return sample.error();
  return std::move(sample->inputs);
}

// Types of inner tensors, and values of those that depend on no input.
Result<void> record(Subject& subject, const engine::Model& view, const engine::Inputs& inputs,
                    std::span<const std::string> tensors, bool keeps_values) {
  const std::vector<bool> constant = graph::constant_nodes(subject.model);
  std::set<std::string_view> of_constants, of_constant_nodes;
  for (size_t i = 0; i < constant.size(); ++i) {
    const OnnxNode& node = subject.model.graph.nodes[i];
    auto& names = node.type == "Constant" ? of_constant_nodes : of_constants;
    if (constant[i]) names.insert(node.outputs.begin(), node.outputs.end());
  }
  auto recorded =
      engine::record_tensors(*subject.engine, view, inputs, tensors, [&](const std::string& name) {
        return keeps_values || of_constants.contains(name) || of_constant_nodes.contains(name);
      });
  if (!recorded) return recorded.error();
  subject.recorded = std::move(*recorded);
  for (const auto& [name, tensor] : subject.recorded) {
    if (const auto type = subject.known.outside.types.find(name);
        type != subject.known.outside.types.end())
      type->second = {tensor.dtype, tensor.shape};
    if (!tensor.value) continue;
    auto& values =
        of_constant_nodes.contains(name) ? subject.known.constants : subject.known.outside.values;
    values[name] = {tensor.dtype, tensor.shape, *tensor.value};
  }
  return {};
}

}  // namespace

Result<Subject> open_subject(const std::string& path) {
  Subject subject;
  subject.path = path;
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  subject.file = std::move(*file);
  auto model = graph::read_onnx(subject.file.bytes());
  if (!model) return std::move(model.error()).in(path);
  if (model->graph.nodes.empty())
    return Error{"the model has no nodes", path, "name an .onnx file with a graph in it"};
  subject.model = std::move(*model);
  subject.mark = mark_of(path, subject.file.bytes(), subject.model.graph.nodes.size());
  if (subject.model.is_external()) {
    if (auto done = graph::inline_external(subject.model, graph::data_place_of(path)); !done)
      return std::move(done.error()).in(path);
    subject.inlined = graph::write_onnx(subject.model);
  }
  return subject;
}

Result<void> learn(Subject& subject, const LearnOptions& options, Remarks& remarks) {
  if (!options.uses_engine) return Error{"no engine is wanted", "--no-engine", "leave it out"};
  auto loaded = engine::LoadedModel::open({subject.path, {}, "onnxruntime", options.limits});
  if (!loaded) return loaded.error();
  engine::Model view = loaded->view();
  view.graph = subject.bytes();
  const std::vector<std::string> tensors = inner_tensors(subject.model);
  auto types = engine::infer_types(loaded->engine(), view, tensors);
  if (!types) return types.error();
  subject.engine = loaded->shared_engine();
  for (const graph::OnnxValue& output : subject.model.graph.outputs)
    types->erase(std::string(output.name));
  subject.known.outside.types = std::move(*types);
  auto inputs = load_inputs(*loaded, options, remarks);
  if (!inputs) return inputs.error();
  subject.is_fed = true;
  return record(subject, view, *inputs, tensors, options.keeps_values);
}

Result<void> learn_if_possible(Subject& subject, const LearnOptions& options, Remarks& remarks) {
  auto learnt = learn(subject, options, remarks);
  if (learnt) return {};
  const bool is_asked = !options.inputs.inputs.empty() || !options.inputs.shapes.empty();
  if (options.keeps_values || (subject.engine != nullptr && !subject.is_fed && is_asked))
    return learnt;
  remarks.notes.push_back(fmt::format(
      "the model was not run, {} tells the types of its tensors; {}: {}",
      subject.engine != nullptr ? "what the engine infers from the file" : "nothing but the file",
      learnt.error().what, learnt.error().where));
  return {};
}

}  // namespace plumb::replay
