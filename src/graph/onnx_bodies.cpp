// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_bodies.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/onnx_build.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_rename.h"
#include "graph/onnx_wire.h"

namespace plumb::graph {
namespace {

constexpr int kMostRounds = 64;  // of branches within branches

bool is_if(const OnnxNode& node) { return node.type == "If" && node.is_standard(); }

Error not_this_node(const OnnxNode& node, std::string_view wanted) {
  return {fmt::format("node '{}' is no {}", node.name, wanted),
          fmt::format("its type is '{}'", node.type), fmt::format("name a {} node", wanted)};
}

// The body in an attribute of a node; empty if there is none.
OnnxGraph body_of(const OnnxNode& node, std::string_view attribute) {
  for (const OnnxBody& body : node.bodies)
    if (body.attribute == attribute) return body.graph;
  return {};
}

// A branch on its way to the surface.
struct Lift {
  OnnxModel& model;
  std::string prefix;   // of names that exist elsewhere
  UniqueNames outside;  // ... which are these
  UniqueNames taken;    // ... and those given since
  Renames renames;
  Inlined inlined;

  std::string_view renamed(std::string_view name) const {
    const auto found = renames.find(name);
    return found == renames.end() ? name : found->second;
  }
};

void name_tensor(Lift& lift, std::string_view name) {
  if (name.empty() || lift.inlined.tensors.count(name) != 0) return;
  std::string free(name);
  if (lift.outside.contains(name)) {
    free = lift.taken.claim(lift.prefix + free);
    lift.renames.emplace(name, lift.model.keep(free));
  }
  lift.taken.add(free);
  lift.inlined.tensors.emplace(name, std::move(free));
}

Result<OnnxNode> lifted_node(Lift& lift, const OnnxNode& inner) {
  std::string text = renamed_node(inner, lift.renames);
  // Its own name only: one that comes from an output has changed with it.
  if (const std::string_view own = text_in(inner.bytes, node_field::kName);
      !own.empty() && lift.outside.contains(own))
    text = with_text(as_bytes(text), node_field::kName,
                     lift.taken.claim(lift.prefix + std::string(own)));
  auto node = read_onnx_node(as_bytes(lift.model.keep(std::move(text))));
  if (!node) return node;
  if (node->name.empty()) node->name = lift.taken.claim(std::string(node->type));
  lift.taken.add(node->name);
  lift.inlined.nodes.emplace(inner.name, node->name);
  return node;
}

OnnxWeight lifted_weight(Lift& lift, OnnxWeight weight) {
  const std::string_view name = lift.renamed(weight.name);
  if (name == weight.name) return weight;
  const auto with_new_name = [&](Bytes tensor) {
    return with_text(tensor, tensor_field::kName, name);
  };
  std::string text = !weight.is_sparse
                         ? with_new_name(weight.bytes)
                         : rewritten(weight.bytes, [&](const ProtoField& field, ProtoWriter& out) {
                             if (field.number != sparse_field::kValues) return false;
                             out.message(field.number, as_bytes(with_new_name(field.bytes)));
                             return true;
                           });
  weight.bytes = as_bytes(lift.model.keep(std::move(text)));
  weight.name = name;
  return weight;
}

OnnxValue lifted_value(Lift& lift, OnnxValue value) {
  const std::string_view name = lift.renamed(value.name);
  if (name == value.name) return value;
  value.bytes = as_bytes(lift.model.keep(with_text(value.bytes, value_field::kName, name)));
  value.name = name;
  return value;
}

// A Loop or Scan with another body, whose `added` last outputs are stacked and come out by these
// names; empty ones stand for outputs that were left out so far.
std::string with_body(Bytes node, const std::string& body,
                      const std::vector<std::string_view>& names, size_t added) {
  std::string text = rewritten(node, [&](const ProtoField& field, ProtoWriter& out) {
    if (field.number != node_field::kAttribute) return false;
    const std::string_view name = text_in(field.bytes, attribute_field::kName);
    ProtoWriter attribute;
    if (name == "body") {
      each_field(field.bytes, [&](const ProtoField& part, Bytes raw) {
        if (part.number != attribute_field::kGraph) attribute.append(raw);
      });
      attribute.message(attribute_field::kGraph, as_bytes(body));
    } else if (name == "scan_output_axes" || name == "scan_output_directions") {
      // One number for each stacked output; 0 is the usual axis and direction.
      attribute.append(field.bytes);
      for (size_t i = 0; i < added; ++i) attribute.varint_or_zero(attribute_field::kInts, 0);
    } else {
      return false;
    }
    out.message(field.number, attribute);
    return true;
  });
  ProtoWriter outputs;
  for (std::string_view name : names) outputs.message(node_field::kOutput, as_bytes(name));
  return text + outputs.bytes();
}

}  // namespace

Result<Inlined> inline_if(OnnxModel& model, size_t node, bool branch) {
  const OnnxNode target = model.graph.nodes[node];
  if (!is_if(target)) return not_this_node(target, "If");
  const std::string_view attribute = branch ? "then_branch" : "else_branch";
  const OnnxGraph body = body_of(target, attribute);
  if (body.outputs.size() < target.outputs.size())
    return Error{"a branch of an If has fewer outputs than the If",
                 fmt::format("{}.{}: {} outputs, the If has {}", target.name, attribute,
                             body.outputs.size(), target.outputs.size()),
                 "export the model again"};

  Lift lift{model,
            fmt::format("{}.{}/", target.name, attribute),
            names_in(model.graph, &model.graph.nodes[node]),
            {},
            {},
            {}};
  lift.outside.add(target.name);  // an Identity will have it
  lift.taken = lift.outside;
  for (std::string_view name : defined_names(body)) name_tensor(lift, name);
  std::vector<OnnxNode> nodes;
  for (const OnnxNode& inner : body.nodes) {
    auto lifted = lifted_node(lift, inner);
    if (!lifted) return std::move(lifted.error()).in(target.name);
    nodes.push_back(std::move(*lifted));
  }
  for (size_t i = 0; i < target.outputs.size(); ++i) {
    if (target.outputs[i].empty()) continue;
    nodes.push_back(
        make_identity(model, i == 0 ? target.name : fmt::format("{}.output_{}", target.name, i),
                      lift.renamed(body.outputs[i].name), target.outputs[i]));
  }
  for (const OnnxWeight& weight : body.initializers)
    model.graph.initializers.push_back(lifted_weight(lift, weight));
  for (const OnnxValue& value : body.value_infos)
    model.graph.value_infos.push_back(lifted_value(lift, value));
  replace_node(model, node, std::move(nodes));
  return std::move(lift.inlined);
}

Result<Inlining> inline_branches(
    Bytes file, const std::function<Result<Conditions>(const Branching& now)>& ask) {
  Inlining done;
  for (int round = 0; round < kMostRounds; ++round) {
    // Read anew each time: names that clash are then those of the file.
    const Bytes now = done.file.empty() ? file : as_bytes(done.file);
    auto model = read_onnx(now);
    if (!model) return model.error();
    std::vector<std::string> conditions;
    for (const OnnxNode& node : model->graph.nodes)
      if (is_if(node) && !node.inputs.empty()) conditions.emplace_back(node.inputs.front());
    if (conditions.empty()) break;
    auto values = ask({now, *model, std::move(conditions)});
    if (!values) return values.error();
    int64_t inlined = 0;
    for (size_t i = model->graph.nodes.size(); i-- > 0;) {  // from the end: places stay valid
      const OnnxNode& node = model->graph.nodes[i];
      if (!is_if(node) || node.inputs.empty()) continue;
      const auto value = values->find(node.inputs.front());
      if (value == values->end()) continue;
      if (auto one = inline_if(*model, i, value->second); !one) return one.error();
      ++inlined;
    }
    if (inlined == 0) break;
    done.branches += inlined;
    done.file = write_onnx(*model);
  }
  return done;
}

Result<std::vector<Exposed>> expose_loop(OnnxModel& model, size_t node,
                                         std::span<const std::string> tensors) {
  const OnnxNode target = model.graph.nodes[node];
  if ((target.type != "Loop" && target.type != "Scan") || !target.is_standard())
    return not_this_node(target, "Loop or Scan");
  OnnxGraph body = body_of(target, "body");
  UniqueNames taken = names_in(model.graph);
  OnnxNames produced, outputs;
  for (const OnnxNode& inner : body.nodes)
    produced.insert(inner.outputs.begin(), inner.outputs.end());
  for (const OnnxValue& output : body.outputs) outputs.insert(output.name);
  // A Loop's first body output is its condition, which the node does not hand out. Outputs at the
  // end may have been left out: they get their place.
  const size_t given = target.outputs.size() + (target.type == "Loop" ? 1 : 0);
  std::vector<std::string_view> names(std::max(given, body.outputs.size()) - given);
  std::vector<Exposed> exposed;
  for (const std::string& tensor : tensors) {
    if (tensor.empty() || produced.count(tensor) == 0) continue;
    std::string_view inner = tensor;
    if (outputs.count(inner) != 0) {  // an output has one meaning only: expose a copy
      const std::string copy = taken.claim(tensor + "/copy");
      body.nodes.push_back(make_identity(model, copy, inner, copy));
      inner = body.nodes.back().outputs[0];
    }
    body.outputs.push_back(make_value(model, inner));
    outputs.insert(body.outputs.back().name);
    exposed.push_back({tensor, taken.claim(fmt::format("{}.body/{}", target.name, tensor))});
    names.push_back(model.keep(exposed.back().output));
  }
  if (exposed.empty()) return exposed;
  if (auto done = rewrite_node(
          model, node, with_body(target.bytes, write_onnx_graph(body), names, exposed.size()));
      !done)
    return done.error();
  return exposed;
}

}  // namespace plumb::graph
