// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_edit.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/proto_wire.h"
#include "graph/onnx_fields.h"

namespace plumb::graph {
namespace {

using Names = std::unordered_set<std::string_view>;
using Renames = std::unordered_map<std::string_view, std::string_view>;  // new names are kept texts

// `visit(field, raw)` for each field of a message that was read before; `raw` begins with the tag.
template <class Visit>
void each(Bytes message, Visit visit) {
  ProtoReader reader(message);
  ProtoField field, next;
  for (bool more = reader.next(field); more; field = next) {
    more = reader.next(next);
    const size_t end = more ? static_cast<size_t>(next.position) : message.size();
    const auto begin = static_cast<size_t>(field.position);
    visit(field, message.subspan(begin, end - begin));
  }
}

// The message with some fields changed: `edit` writes what stands for a field and says true, or
// says false and the field stays.
template <class Edit>
std::string rewritten(Bytes message, Edit edit) {
  ProtoWriter out;
  each(message, [&](const ProtoField& field, Bytes raw) {
    if (!edit(field, out)) out.append(raw);
  });
  return std::move(out).take();
}

// A text field that is not left out when empty: an empty name in a list holds a place.
void write_text(ProtoWriter& out, uint32_t number, std::string_view text) {
  out.message(number, as_bytes(text));
}

// Pieces of a sub-message are one message.
std::string merged(Bytes message, uint32_t number) {
  std::string whole;
  each(message, [&](const ProtoField& field, Bytes) {
    if (field.number == number) whole += as_text(field.bytes);
  });
  return whole;
}

std::string_view text_in(Bytes message, uint32_t number) {
  std::string_view text;
  each(message, [&](const ProtoField& field, Bytes) {
    if (field.number == number) text = as_text(field.bytes);
  });
  return text;
}

std::string with_name(Bytes message, uint32_t number, std::string_view name) {
  std::string out = rewritten(
      message, [&](const ProtoField& field, ProtoWriter&) { return field.number == number; });
  ProtoWriter last;
  write_text(last, number, name);
  return out + last.bytes();
}

// ---- names in bodies

// Calls `visit` with every body of a node: whole graphs.
template <class Visit>
void each_body(Bytes node, Visit visit) {
  each(node, [&](const ProtoField& attribute, Bytes) {
    if (attribute.number != node_field::kAttribute) return;
    if (const std::string body = merged(attribute.bytes, attribute_field::kGraph); !body.empty())
      visit(as_bytes(body));
    each(attribute.bytes, [&](const ProtoField& field, Bytes) {
      if (field.number == attribute_field::kGraphs) visit(field.bytes);
    });
  });
}

std::string_view sparse_name(Bytes sparse) {
  std::string_view name;
  each(sparse, [&](const ProtoField& field, Bytes) {
    if (field.number == sparse_field::kValues) name = text_in(field.bytes, tensor_field::kName);
  });
  return name;
}

// The tensors that a graph defines, without those of bodies in it. `visit` takes a name.
template <class Visit>
void each_defined(Bytes graph, Visit visit) {
  each(graph, [&](const ProtoField& field, Bytes) {
    switch (field.number) {
      case graph_field::kInput: visit(text_in(field.bytes, value_field::kName)); break;
      case graph_field::kInitializer: visit(text_in(field.bytes, tensor_field::kName)); break;
      case graph_field::kSparseInitializer: visit(sparse_name(field.bytes)); break;
      case graph_field::kNode:
        each(field.bytes, [&](const ProtoField& part, Bytes) {
          if (part.number == node_field::kOutput) visit(as_text(part.bytes));
        });
        break;
      default: break;
    }
  });
}

// All names of tensors and nodes in the bodies of a node, however deep.
void add_inner_names(Bytes node, std::set<std::string, std::less<>>& names) {
  each_body(node, [&](Bytes body) {
    each_defined(body, [&](std::string_view name) { names.emplace(name); });
    each(body, [&](const ProtoField& field, Bytes) {
      if (field.number != graph_field::kNode) return;
      names.emplace(text_in(field.bytes, node_field::kName));
      add_inner_names(field.bytes, names);
    });
  });
}

std::string renamed_node(Bytes node, const Renames& renames);

// A body with other names for tensors from outside. What it defines itself hides them.
std::string renamed_body(Bytes body, const Renames& renames) {
  Renames visible = renames;
  each_defined(body, [&](std::string_view name) { visible.erase(name); });
  if (visible.empty()) return std::string(as_text(body));
  return rewritten(body, [&](const ProtoField& field, ProtoWriter& out) {
    if (field.number == graph_field::kNode) {
      write_text(out, field.number, renamed_node(field.bytes, visible));
      return true;
    }
    if (field.number != graph_field::kOutput) return false;
    const auto renamed = visible.find(text_in(field.bytes, value_field::kName));
    if (renamed == visible.end()) return false;
    write_text(out, field.number, with_name(field.bytes, value_field::kName, renamed->second));
    return true;
  });
}

std::string renamed_attribute(Bytes attribute, const Renames& renames) {
  const std::string body = merged(attribute, attribute_field::kGraph);
  std::string out = rewritten(attribute, [&](const ProtoField& field, ProtoWriter& writer) {
    if (field.number == attribute_field::kGraphs)
      write_text(writer, field.number, renamed_body(field.bytes, renames));
    return field.number == attribute_field::kGraph || field.number == attribute_field::kGraphs;
  });
  if (!body.empty()) {
    ProtoWriter last;
    write_text(last, attribute_field::kGraph, renamed_body(as_bytes(body), renames));
    out += last.bytes();
  }
  return out;
}

std::string renamed_node(Bytes node, const Renames& renames) {
  return rewritten(node, [&](const ProtoField& field, ProtoWriter& out) {
    switch (field.number) {
      case node_field::kInput:
      case node_field::kOutput: {
        const auto renamed = renames.find(as_text(field.bytes));
        if (renamed == renames.end()) return false;
        write_text(out, field.number, renamed->second);
        return true;
      }
      case node_field::kAttribute:
        write_text(out, field.number, renamed_attribute(field.bytes, renames));
        return true;
      default: return false;
    }
  });
}

// ---- parts made anew

std::string node_bytes(std::string_view name, std::string_view type, std::string_view input,
                       std::string_view output) {
  ProtoWriter node;
  node.text(node_field::kInput, input);
  node.text(node_field::kOutput, output);
  node.text(node_field::kName, name);
  node.text(node_field::kOpType, type);
  return node.bytes();
}

OnnxNode make_identity(OnnxModel& model, std::string_view name, std::string_view input,
                       std::string_view output) {
  // Just written: it can be read.
  return *read_onnx_node(as_bytes(model.keep(node_bytes(name, "Identity", input, output))));
}

OnnxValue make_value(OnnxModel& model, std::string_view name, const OnnxType& type) {
  ProtoWriter value;
  value.text(value_field::kName, name);
  if (type.dtype) {
    ProtoWriter tensor, shape, wrapped;
    tensor.varint(tensor_type_field::kElementType, *onnx_from_dtype(*type.dtype));
    if (type.shape) {
      for (int64_t size : *type.shape) {
        ProtoWriter dim;
        // A size of 0 is written, too: no size at all would mean any size.
        if (size == 0) dim.append(as_bytes(std::string_view("\x08\x00", 2)));
        if (size > 0) dim.varint(1, static_cast<uint64_t>(size));
        shape.message(1, dim);
      }
      tensor.message(tensor_type_field::kShape, shape);
    }
    wrapped.message(type_field::kTensor, tensor);
    value.message(value_field::kType, wrapped);
  }
  const std::string_view bytes = model.keep(std::move(value).take());
  return {as_bytes(bytes), text_in(as_bytes(bytes), value_field::kName), type};
}

// `name` itself if nobody has it, else with the first free number behind.
std::string free_name(std::string name, const std::set<std::string, std::less<>>& taken) {
  if (taken.count(name) == 0) return name;
  for (int64_t i = 2;; ++i)
    if (std::string numbered = fmt::format("{}_{}", name, i); taken.count(numbered) == 0)
      return numbered;
}

// Every name in the model but those in `except` and its bodies.
std::set<std::string, std::less<>> all_names(const OnnxGraph& graph, const OnnxNode* except) {
  std::set<std::string, std::less<>> names;
  for (const OnnxValue& value : graph.inputs) names.emplace(value.name);
  for (const OnnxValue& value : graph.outputs) names.emplace(value.name);
  for (const OnnxWeight& weight : graph.initializers) names.emplace(weight.name);
  for (const OnnxNode& node : graph.nodes) {
    names.insert(node.outputs.begin(), node.outputs.end());
    if (&node == except) continue;
    names.emplace(node.name);
    names.insert(node.inputs.begin(), node.inputs.end());
    if (node.has_bodies) add_inner_names(node.bytes, names);
  }
  return names;
}

Error not_this_node(const OnnxNode& node, std::string_view wanted) {
  return {fmt::format("node '{}' is no {}", node.name, wanted),
          fmt::format("its type is '{}'", node.type), fmt::format("name a {} node", wanted)};
}

bool is_standard(const OnnxNode& node) { return node.domain.empty() || node.domain == "ai.onnx"; }

// The body in an attribute of a node; empty if there is none.
std::string body_of(const OnnxNode& node, std::string_view attribute_name) {
  std::string body;
  each(node.bytes, [&](const ProtoField& field, Bytes) {
    if (field.number == node_field::kAttribute &&
        text_in(field.bytes, attribute_field::kName) == attribute_name)
      body += merged(field.bytes, attribute_field::kGraph);
  });
  return body;
}

}  // namespace

Result<size_t> find_node(const OnnxModel& model, std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    if (model.graph.nodes[i].name == name) return i;
    names.push_back(model.graph.nodes[i].name);
  }
  return Error{fmt::format("the model has no operator '{}'", name),
               fmt::format("{} operators were looked at", names.size()),
               did_you_mean(name, names) + "names are those of the original ONNX model"};
}

std::vector<std::string> expose(OnnxModel& model, std::span<const std::string> tensors) {
  Names produced, outputs;
  for (const OnnxNode& node : model.graph.nodes)
    produced.insert(node.outputs.begin(), node.outputs.end());
  for (const OnnxValue& output : model.graph.outputs) outputs.insert(output.name);
  std::vector<std::string> exposed;
  for (const std::string& tensor : tensors) {
    if (tensor.empty() || produced.count(tensor) == 0) continue;
    exposed.push_back(tensor);
    if (outputs.count(tensor) != 0) continue;
    model.graph.outputs.push_back(make_value(model, tensor, {}));
    outputs.insert(model.graph.outputs.back().name);
  }
  return exposed;
}

void drop_weight_inputs(OnnxModel& model) {
  Names weights;
  for (const OnnxWeight& weight : model.graph.initializers) weights.insert(weight.name);
  std::erase_if(model.graph.inputs,
                [&](const OnnxValue& input) { return weights.count(input.name) != 0; });
  if (!weights.empty()) model.ir_version = std::max<int64_t>(model.ir_version.value_or(0), 4);
}

namespace {

// A branch on its way to the surface.
struct Lift {
  OnnxModel& model;
  std::string prefix;                          // of names that exist elsewhere
  std::set<std::string, std::less<>> outside;  // ... which are these
  std::set<std::string, std::less<>> taken;    // ... and those given since
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
  if (lift.outside.count(name) != 0) {
    free = free_name(lift.prefix + free, lift.taken);
    lift.renames.emplace(name, lift.model.keep(free));
  }
  lift.taken.insert(free);
  lift.inlined.tensors.emplace(name, std::move(free));
}

Result<OnnxNode> lifted_node(Lift& lift, const OnnxNode& inner) {
  std::string text = renamed_node(inner.bytes, lift.renames);
  // Its own name only: one that comes from an output has changed with it.
  if (const std::string_view own = text_in(inner.bytes, node_field::kName);
      !own.empty() && lift.outside.count(own) != 0)
    text = with_name(as_bytes(text), node_field::kName,
                     free_name(lift.prefix + std::string(own), lift.taken));
  auto node = read_onnx_node(as_bytes(lift.model.keep(std::move(text))));
  if (!node) return node;
  for (std::string_view output : node->outputs)
    if (node->name.empty()) node->name = output;
  if (node->name.empty()) node->name = inner.name;
  lift.taken.insert(node->name);
  lift.inlined.nodes.emplace(inner.name, node->name);
  return node;
}

OnnxWeight lifted_weight(Lift& lift, OnnxWeight weight) {
  const std::string_view name = lift.renamed(weight.name);
  if (name == weight.name) return weight;
  const auto with_new_name = [&](Bytes tensor) {
    return with_name(tensor, tensor_field::kName, name);
  };
  std::string text = !weight.is_sparse
                         ? with_new_name(weight.bytes)
                         : rewritten(weight.bytes, [&](const ProtoField& field, ProtoWriter& out) {
                             if (field.number != sparse_field::kValues) return false;
                             write_text(out, field.number, with_new_name(field.bytes));
                             return true;
                           });
  weight.bytes = as_bytes(lift.model.keep(std::move(text)));
  weight.name = name;
  return weight;
}

OnnxValue lifted_value(Lift& lift, OnnxValue value) {
  const std::string_view name = lift.renamed(value.name);
  if (name == value.name) return value;
  value.bytes = as_bytes(lift.model.keep(with_name(value.bytes, value_field::kName, name)));
  value.name = name;
  return value;
}

}  // namespace

Result<Inlined> inline_if(OnnxModel& model, size_t node, bool branch) {
  const OnnxNode target = model.graph.nodes[node];
  if (target.type != "If" || !is_standard(target)) return not_this_node(target, "If");
  const std::string_view attribute = branch ? "then_branch" : "else_branch";
  const Bytes bytes = as_bytes(model.keep(body_of(target, attribute)));
  auto body = read_onnx_graph(bytes);
  if (!body) return std::move(body.error()).in(target.name);
  if (body->outputs.size() < target.outputs.size())
    return Error{"a branch of an If has fewer outputs than the If",
                 fmt::format("{}.{}: {} outputs, the If has {}", target.name, attribute,
                             body->outputs.size(), target.outputs.size()),
                 "export the model again"};

  Lift lift{model,
            fmt::format("{}.{}/", target.name, attribute),
            all_names(model.graph, &model.graph.nodes[node]),
            {},
            {},
            {}};
  lift.outside.insert(target.name);  // an Identity will have it
  lift.taken = lift.outside;
  each_defined(bytes, [&](std::string_view name) { name_tensor(lift, name); });
  std::vector<OnnxNode> nodes;
  for (const OnnxNode& inner : body->nodes) {
    auto lifted = lifted_node(lift, inner);
    if (!lifted) return std::move(lifted.error()).in(target.name);
    nodes.push_back(std::move(*lifted));
  }
  for (size_t i = 0; i < target.outputs.size(); ++i) {
    if (target.outputs[i].empty()) continue;
    nodes.push_back(
        make_identity(model, i == 0 ? target.name : fmt::format("{}.output_{}", target.name, i),
                      lift.renamed(body->outputs[i].name), target.outputs[i]));
  }
  for (const OnnxWeight& weight : body->initializers)
    model.graph.initializers.push_back(lifted_weight(lift, weight));
  for (const OnnxValue& value : body->value_infos)
    model.graph.value_infos.push_back(lifted_value(lift, value));
  const auto at = model.graph.nodes.erase(model.graph.nodes.begin() + static_cast<ptrdiff_t>(node));
  model.graph.nodes.insert(at, std::make_move_iterator(nodes.begin()),
                           std::make_move_iterator(nodes.end()));
  return std::move(lift.inlined);
}

namespace {

// A Loop or Scan with another body, whose `added` last outputs are stacked and come out by these
// names; empty ones stand for outputs that were left out so far.
std::string with_body(Bytes node, const std::string& body,
                      const std::vector<std::string_view>& names, size_t added) {
  std::string text = rewritten(node, [&](const ProtoField& field, ProtoWriter& out) {
    if (field.number != node_field::kAttribute) return false;
    const std::string_view name = text_in(field.bytes, attribute_field::kName);
    ProtoWriter attribute;
    if (name == "body") {
      each(field.bytes, [&](const ProtoField& part, Bytes raw) {
        if (part.number != attribute_field::kGraph) attribute.append(raw);
      });
      write_text(attribute, attribute_field::kGraph, body);
    } else if (name == "scan_output_axes" || name == "scan_output_directions") {
      // One number for each stacked output; 0 is the usual axis and direction.
      attribute.append(field.bytes);
      for (size_t i = 0; i < added; ++i)
        attribute.append(as_bytes(std::string_view("\x40\x00", 2)));
    } else {
      return false;
    }
    out.message(field.number, attribute);
    return true;
  });
  ProtoWriter outputs;
  for (std::string_view name : names) write_text(outputs, node_field::kOutput, name);
  return text + outputs.bytes();
}

}  // namespace

Result<std::vector<Exposed>> expose_loop(OnnxModel& model, size_t node,
                                         std::span<const std::string> tensors) {
  const OnnxNode target = model.graph.nodes[node];
  if ((target.type != "Loop" && target.type != "Scan") || !is_standard(target))
    return not_this_node(target, "Loop or Scan");
  auto body = read_onnx_graph(as_bytes(model.keep(body_of(target, "body"))));
  if (!body) return std::move(body.error()).in(target.name);

  std::set<std::string, std::less<>> taken = all_names(model.graph, nullptr);
  Names produced, outputs;
  for (const OnnxNode& inner : body->nodes)
    produced.insert(inner.outputs.begin(), inner.outputs.end());
  for (const OnnxValue& output : body->outputs) outputs.insert(output.name);
  // A Loop's first body output is its condition, which the node does not hand out. Outputs at the
  // end may have been left out: they get their place.
  const size_t given = target.outputs.size() + (target.type == "Loop" ? 1 : 0);
  std::vector<std::string_view> names(std::max(given, body->outputs.size()) - given);
  std::vector<Exposed> exposed;
  for (const std::string& tensor : tensors) {
    if (tensor.empty() || produced.count(tensor) == 0) continue;
    std::string_view inner = tensor;
    if (outputs.count(inner) != 0) {  // an output has one meaning only: expose a copy
      const std::string copy = free_name(tensor + "/copy", taken);
      body->nodes.push_back(make_identity(model, copy, inner, copy));
      inner = body->nodes.back().outputs[0];
      taken.insert(copy);
    }
    body->outputs.push_back(make_value(model, inner, {}));
    outputs.insert(body->outputs.back().name);
    const std::string outside = free_name(fmt::format("{}.body/{}", target.name, tensor), taken);
    taken.insert(outside);
    names.push_back(model.keep(outside));
    exposed.push_back({tensor, outside});
  }
  if (exposed.empty()) return exposed;
  auto read = read_onnx_node(as_bytes(
      model.keep(with_body(target.bytes, write_onnx_graph(*body), names, exposed.size()))));
  if (!read) return std::move(read.error()).in(target.name);
  read->name = target.name;
  model.graph.nodes[node] = std::move(*read);
  return exposed;
}

Result<OnnxWeight> make_weight(OnnxModel& model, std::string_view name, const OnnxTensor& tensor) {
  const auto code = onnx_from_dtype(tensor.dtype);
  const auto count = element_count(tensor.shape);
  const auto needed = count ? byte_count(tensor.dtype, *count) : std::nullopt;
  if (!code || !needed || static_cast<uint64_t>(*needed) != tensor.bytes.size())
    return Error{"a tensor cannot become part of an ONNX model",
                 fmt::format("'{}': {} {} in {} bytes", name, plumb::name_of(tensor.dtype),
                             to_string(tensor.shape), tensor.bytes.size()),
                 "convert it to a type that ONNX has"};
  ProtoWriter proto;
  proto.packed(tensor_field::kDims, tensor.shape);
  proto.varint(tensor_field::kDataType, *code);
  proto.text(tensor_field::kName, name);
  proto.message(tensor_field::kRawData, tensor.bytes);
  const Bytes bytes = as_bytes(model.keep(std::move(proto).take()));
  return OnnxWeight{bytes, text_in(bytes, tensor_field::kName), false, false};
}

// ---- parts of a model

namespace {

// Who reads and writes what at the surface of a graph.
struct Wiring {
  std::unordered_map<std::string_view, size_t> producer;  // node
  std::unordered_map<std::string_view, size_t> weight;    // place in `initializers`

  explicit Wiring(const OnnxGraph& graph) {
    for (size_t i = 0; i < graph.initializers.size(); ++i)
      weight.emplace(graph.initializers[i].name, i);
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      for (std::string_view output : graph.nodes[i].outputs)
        if (!output.empty()) producer.emplace(output, i);
  }
};

template <class Visit>
void each_read(const OnnxNode& node, Visit visit) {
  for (std::string_view name : node.inputs)
    if (!name.empty()) visit(name);
  for (std::string_view name : node.captures) visit(name);
}

// By name: the first value of each.
using Values = std::unordered_map<std::string_view, const OnnxValue*>;

Values known_values(const OnnxGraph& graph) {
  Values values;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_infos})
    for (const OnnxValue& value : *list) values.try_emplace(value.name, &value);
  return values;
}

OnnxValue value_for(OnnxModel& model, std::string_view name, const Values& known,
                    const Outside& outside) {
  const auto type = outside.types.find(name);
  if (type != outside.types.end() && type->second.dtype && onnx_from_dtype(*type->second.dtype))
    return make_value(model, name, type->second);
  const auto value = known.find(name);
  return value != known.end() ? *value->second : make_value(model, name, {});
}

std::vector<Bytes> without_field(const std::vector<Bytes>& fields, uint32_t number) {
  std::vector<Bytes> kept;
  for (Bytes raw : fields)
    each(raw, [&](const ProtoField& field, Bytes) {
      if (field.number != number) kept.push_back(raw);
    });
  return kept;
}

bool is_random(const OnnxNode& node) {
  return node.type.substr(0, 6) == "Random" || node.type == "Bernoulli" ||
         node.type == "Multinomial" || node.type == "Dropout";
}

// Has its type, if only as bytes that we do not understand.
bool is_typed(const OnnxValue& value) { return !text_in(value.bytes, value_field::kType).empty(); }

}  // namespace

Boundary boundary_of(const OnnxModel& model, std::span<const size_t> nodes) {
  const OnnxGraph& graph = model.graph;
  const Wiring wiring(graph);
  std::vector<bool> taken(graph.nodes.size());
  for (size_t node : nodes) taken[node] = true;

  Boundary boundary;
  Names inside, outside;  // what is read by the nodes taken, and by others
  for (const OnnxValue& output : graph.outputs) outside.insert(output.name);
  const auto bring = [&](std::string_view name) {
    if (!inside.insert(name).second) return;
    const auto producer = wiring.producer.find(name);
    const bool is_produced = producer != wiring.producer.end();
    if (is_produced && taken[producer->second]) return;
    if (const auto weight = wiring.weight.find(name); weight != wiring.weight.end())
      boundary.weights.push_back(weight->second);
    else if (is_produced && graph.nodes[producer->second].type == "Constant")
      boundary.constants.push_back(producer->second);
    else
      boundary.inputs.emplace_back(name);
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (taken[i])
      each_read(graph.nodes[i], bring);
    else
      each_read(graph.nodes[i], [&](std::string_view name) { outside.insert(name); });
  Names outputs;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::string_view name : graph.nodes[i].outputs)
      if (taken[i] && !name.empty() && (outside.count(name) != 0 || inside.count(name) == 0) &&
          outputs.insert(name).second)
        boundary.outputs.emplace_back(name);
  return boundary;
}

Result<OnnxModel> cut(const OnnxModel& model, std::span<const size_t> nodes,
                      const Outside& outside) {
  const OnnxGraph& graph = model.graph;
  const Boundary boundary = boundary_of(model, nodes);
  if (boundary.outputs.empty())
    return Error{"the part of the model has no outputs",
                 fmt::format("{} nodes were to be cut out", nodes.size()),
                 "name nodes that produce something"};
  OnnxModel part;
  part.texts = model.texts;
  part.ir_version = std::max<int64_t>(model.ir_version.value_or(0), 4);  // weights are no inputs
  part.other_fields = without_field(model.other_fields, model_field::kTraining);
  part.graph.name = graph.name;
  part.graph.other_fields = without_field(graph.other_fields, graph_field::kQuantization);

  std::set<size_t> places(nodes.begin(), nodes.end());
  std::vector<std::string> read = boundary.inputs;
  for (const size_t place : boundary.constants) {
    const std::string name(graph.nodes[place].outputs.front());
    if (outside.values.count(name) != 0)  // becomes an initializer
      read.push_back(name);
    else
      places.insert(place);
  }
  Names inner;
  for (size_t place : places) {
    part.graph.nodes.push_back(graph.nodes[place]);
    inner.insert(graph.nodes[place].outputs.begin(), graph.nodes[place].outputs.end());
  }
  for (size_t weight : boundary.weights)
    part.graph.initializers.push_back(graph.initializers[weight]);
  const Values known = known_values(graph);
  std::vector<std::string> untyped;
  for (const std::string& name : read) {
    if (const auto value = outside.values.find(name); value != outside.values.end()) {
      auto weight = make_weight(part, name, value->second);
      if (!weight) return weight.error();
      part.graph.initializers.push_back(*weight);
      continue;
    }
    part.graph.inputs.push_back(value_for(part, name, known, outside));
    if (!is_typed(part.graph.inputs.back())) untyped.push_back(name);
  }
  if (!untyped.empty())
    return Error{"the type of an input is not known", fmt::format("{}", fmt::join(untyped, ", ")),
                 "record the types in the model (onnx.shape_inference.infer_shapes), or dump these "
                 "tensors"};
  for (const std::string& name : boundary.outputs) {
    part.graph.outputs.push_back(value_for(part, name, known, outside));
    inner.erase(name);
  }
  for (const OnnxValue& value : graph.value_infos)
    if (inner.count(value.name) != 0) part.graph.value_infos.push_back(value);
  return part;
}

Result<OnnxModel> without(const OnnxModel& model, std::span<const size_t> nodes,
                          const Outside& outside) {
  std::vector<bool> removed(model.graph.nodes.size());
  for (size_t node : nodes) removed[node] = true;
  std::vector<size_t> kept;
  for (size_t i = 0; i < removed.size(); ++i)
    if (!removed[i]) kept.push_back(i);
  return cut(model, kept, outside);
}

std::vector<size_t> with_constant_sources(const OnnxModel& model, std::span<const size_t> nodes) {
  const OnnxGraph& graph = model.graph;
  const Wiring wiring(graph);
  // Nodes come after what they read, in every model that can run.
  std::vector<bool> constant(graph.nodes.size()), taken(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const OnnxNode& node = graph.nodes[i];
    bool reads = false, depends = false;
    each_read(node, [&](std::string_view name) {
      reads = true;
      const auto producer = wiring.producer.find(name);
      depends |= producer != wiring.producer.end() ? !constant[producer->second]
                                                   : wiring.weight.count(name) == 0;
    });
    constant[i] = !depends && !is_random(node) && (reads || node.type == "Constant");
  }
  for (size_t node : nodes) taken[node] = true;
  std::vector<size_t> all;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!taken[i]) continue;
    all.push_back(i);
    each_read(graph.nodes[i], [&](std::string_view name) {
      const auto producer = wiring.producer.find(name);
      if (producer != wiring.producer.end() && producer->second < i && constant[producer->second])
        taken[producer->second] = true;
    });
  }
  std::reverse(all.begin(), all.end());
  return all;
}

std::vector<size_t> nodes_between(const OnnxModel& model, size_t first, size_t last) {
  const OnnxGraph& graph = model.graph;
  const Wiring wiring(graph);
  std::vector<bool> after(graph.nodes.size()), before(graph.nodes.size());
  after[first] = before[last] = true;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    each_read(graph.nodes[i], [&](std::string_view name) {
      const auto producer = wiring.producer.find(name);
      if (producer != wiring.producer.end() && after[producer->second]) after[i] = true;
    });
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (before[i])
      each_read(graph.nodes[i], [&](std::string_view name) {
        const auto producer = wiring.producer.find(name);
        if (producer != wiring.producer.end()) before[producer->second] = true;
      });
  std::vector<size_t> between;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (after[i] && before[i]) between.push_back(i);
  return between;
}

// ---- external data

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 31;  // what protobuf takes

class Inliner {
 public:
  explicit Inliner(const std::filesystem::path& directory) : directory_(directory) {}

  std::string node(Bytes message) {
    return rewritten(message, [&](const ProtoField& field, ProtoWriter& out) {
      if (field.number != node_field::kAttribute) return false;
      write_text(out, field.number, attribute(field.bytes));
      return true;
    });
  }

  std::string weight(const OnnxWeight& weight) {
    return weight.is_sparse ? sparse(weight.bytes) : tensor(weight.bytes);
  }

  std::optional<Error> error;

 private:
  std::string attribute(Bytes message) {
    return rewritten(message, [&](const ProtoField& field, ProtoWriter& out) {
      switch (field.number) {
        case attribute_field::kTensor:
        case attribute_field::kTensors: write_text(out, field.number, tensor(field.bytes)); break;
        case attribute_field::kSparseTensor:
        case attribute_field::kSparseTensors:
          write_text(out, field.number, sparse(field.bytes));
          break;
        case attribute_field::kGraph:
        case attribute_field::kGraphs: write_text(out, field.number, graph(field.bytes)); break;
        default: return false;
      }
      return true;
    });
  }

  std::string graph(Bytes message) {
    return rewritten(message, [&](const ProtoField& field, ProtoWriter& out) {
      switch (field.number) {
        case graph_field::kNode: write_text(out, field.number, node(field.bytes)); break;
        case graph_field::kInitializer: write_text(out, field.number, tensor(field.bytes)); break;
        case graph_field::kSparseInitializer:
          write_text(out, field.number, sparse(field.bytes));
          break;
        default: return false;
      }
      return true;
    });
  }

  std::string sparse(Bytes message) {
    return rewritten(message, [&](const ProtoField& field, ProtoWriter& out) {
      if (field.number != sparse_field::kValues && field.number != sparse_field::kIndices)
        return false;
      write_text(out, field.number, tensor(field.bytes));
      return true;
    });
  }

  struct Place {
    std::string_view tensor, location, offset, length;
    bool is_external = false;
    std::optional<int64_t> needed;  // bytes, by type and shape
  };

  std::string tensor(Bytes message) {
    const Place place = place_of(message);
    if (!place.is_external || error) return std::string(as_text(message));
    auto data = data_at(place);
    if (!data) {
      error = std::move(data.error()).in(fmt::format("tensor '{}'", place.tensor));
      return {};
    }
    ProtoWriter raw;
    raw.message(tensor_field::kRawData, *data);
    return rewritten(message,
                     [](const ProtoField& field, ProtoWriter&) {
                       return field.number == tensor_field::kExternalData ||
                              field.number == tensor_field::kDataLocation ||
                              field.number == tensor_field::kRawData;
                     }) +
           raw.bytes();
  }

  static Place place_of(Bytes message) {
    Place place;
    Shape dims;
    std::optional<DType> dtype;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) switch (field.number) {
        case tensor_field::kDims: reader.append_varints(field, dims, 64); break;
        case tensor_field::kDataType: dtype = dtype_from_onnx(field.value); break;
        case tensor_field::kName: place.tensor = as_text(field.bytes); break;
        case tensor_field::kDataLocation: place.is_external = field.value == 1; break;
        case tensor_field::kExternalData: {
          std::string_view key, value;
          ProtoReader entry(field);
          for (ProtoField part; entry.next(part);)
            (part.number == 1 ? key : value) = as_text(part.bytes);
          if (key == "location") place.location = value;
          if (key == "offset") place.offset = value;
          if (key == "length") place.length = value;
          break;
        }
        default: break;
      }
    if (const auto count = element_count(dims); dtype && count && reader.ok())
      place.needed = byte_count(*dtype, *count);
    return place;
  }

  Result<Bytes> data_at(const Place& place) {
    auto file = open(place.location);
    if (!file) return file.error();
    const Bytes bytes = *file;
    uint64_t offset = 0, length = 0;
    if (!number(place.offset, offset) || !number(place.length, length))
      return Error{"external data have no sensible place",
                   fmt::format("offset '{}', length '{}'", place.offset, place.length), kExport};
    if (place.length.empty()) {
      if (!place.needed)
        return Error{"external data have no length", std::string(place.location), kExport};
      length = static_cast<uint64_t>(*place.needed);
    }
    if (place.needed && static_cast<uint64_t>(*place.needed) != length)
      return Error{
          "external data and the tensor's shape do not fit each other",
          fmt::format("{} bytes are recorded, type and shape need {}", length, *place.needed),
          kExport};
    if (offset > bytes.size() || length > bytes.size() - offset)
      return Error{"external data end before the tensor does",
                   fmt::format("{}, byte {}: {} bytes are needed, the file has {}", place.location,
                               offset, length, bytes.size()),
                   "copy the file again"};
    total_ += length;
    if (total_ > kMostBytes)
      return Error{"the model would be larger than 2 GiB with its data inside",
                   std::string(place.location),
                   "cut a smaller part out, or keep the model beside its data"};
    return bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(length));
  }

  Result<Bytes> open(std::string_view location) {
    if (const auto known = files_.find(location); known != files_.end())
      return known->second.bytes();
    namespace fs = std::filesystem;
    const auto escapes = [&] {
      return Error{"external data lie outside the model's directory", std::string(location),
                   "put the data beside the model"};
    };
    const fs::path relative(location);
    if (location.empty() || location.find('\0') != std::string_view::npos ||
        relative.is_absolute() || *relative.lexically_normal().begin() == "..")
      return escapes();
    std::error_code code;
    const fs::path root = fs::canonical(directory_.empty() ? "." : directory_, code);
    const fs::path path = code ? fs::path() : fs::canonical(root / relative, code);
    if (code || !fs::is_regular_file(path, code))
      return Error{"external data are missing", (directory_ / relative).string(),
                   "put the file beside the model"};
    // Links count as well.
    if (std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first != root.end())
      return escapes();
    auto file = MappedFile::open(path.string());
    if (!file) return file.error();
    return files_.emplace(location, std::move(*file)).first->second.bytes();
  }

  // An empty text is 0.
  static bool number(std::string_view text, uint64_t& value) {
    const char* end = text.data() + text.size();
    if (text.empty()) return true;
    const auto read = std::from_chars(text.data(), end, value);
    return read.ec == std::errc() && read.ptr == end;
  }

  static constexpr const char* kExport = "export the model again";

  std::filesystem::path directory_;
  std::map<std::string, MappedFile, std::less<>> files_;
  uint64_t total_ = 0;
};

}  // namespace

Result<void> inline_external(OnnxModel& model, const std::filesystem::path& directory) {
  Inliner inliner(directory);
  OnnxModel changed = model;
  for (OnnxWeight& weight : changed.graph.initializers) {
    if (!weight.is_external || inliner.error) continue;
    weight.bytes = as_bytes(changed.keep(inliner.weight(weight)));
    weight.is_external = false;
  }
  for (OnnxNode& node : changed.graph.nodes) {
    if (!node.is_external || inliner.error) continue;
    std::string text = inliner.node(node.bytes);
    if (inliner.error) break;
    auto read = read_onnx_node(as_bytes(changed.keep(std::move(text))));
    if (!read) return std::move(read.error()).in(node.name);
    read->name = node.name;
    node = std::move(*read);
  }
  if (inliner.error) return std::move(*inliner.error);
  model = std::move(changed);
  return {};
}

}  // namespace plumb::graph
