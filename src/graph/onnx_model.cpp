// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/memory_limit.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"
#include "graph/unique_names.h"

namespace plumb::graph {
namespace {

constexpr size_t kSetEntryBytes = 64;  // what a name costs in an unordered_set, about

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file), limit_(file.size()) {}

  void read_model(OnnxModel& model) {
    bool has_graph = false;
    each({0, WireType::kBytes, 0, file_, 0, 0}, [&](const ProtoField& field, Bytes raw) {
      switch (field.number) {
        case model_field::kIrVersion: model.ir_version = static_cast<int64_t>(field.value); break;
        case model_field::kGraph:  // in several pieces they are one graph, as in all of protobuf
          has_graph = true;
          add_to_graph(field, model.graph, 0);
          break;
        default: model.other_fields.push_back(keep(raw, field.position)); break;
      }
    });
    if (!has_graph) fail(0, "there is no graph in the file");
    name_nodes(model.graph);
  }

  void read_node(OnnxNode& node) { node = node_from({0, WireType::kBytes, 0, file_, 0, 0}, 0); }

  bool ok() const { return problem_.empty(); }
  Error error() const { return damaged_onnx(fmt::format("byte {}: {}", failed_at_, problem_)); }

 private:
  void add_to_graph(const ProtoField& message, OnnxGraph& graph, int depth) {
    each(message, [&](const ProtoField& field, Bytes raw) {
      switch (field.number) {
        case graph_field::kNode:
          take(sizeof(OnnxNode), field.position);
          if (ok()) graph.nodes.push_back(node_from(field, depth));
          break;
        case graph_field::kName: graph.name = text(field); break;
        case graph_field::kInitializer:
        case graph_field::kSparseInitializer:
          take(sizeof(OnnxWeight), field.position);
          if (ok()) graph.initializers.push_back(weight_from(field));
          break;
        case graph_field::kInput: add_value(field, graph.inputs); break;
        case graph_field::kOutput: add_value(field, graph.outputs); break;
        case graph_field::kValueInfo: add_value(field, graph.value_infos); break;
        default: graph.other_fields.push_back(keep(raw, field.position)); break;
      }
    });
  }

  // Operators of the main graph are known by name: first its inputs and the weights that it gives
  // out, then its nodes.
  void name_nodes(OnnxGraph& graph) {
    OnnxNames weights, others;
    for (const OnnxWeight& weight : graph.initializers) weights.insert(weight.name);
    for (const OnnxValue& input : graph.inputs)
      if (weights.count(input.name) == 0) others.insert(input.name);
    for (const OnnxValue& output : graph.outputs)
      if (weights.count(output.name) != 0) others.insert(output.name);
    UniqueNames unique;
    for (std::string_view name : others) unique.add(name);
    size_t index = others.size();
    for (OnnxNode& node : graph.nodes) {
      if (node.name.empty()) node.name = fmt::format("{}_{}", node.type, index);
      node.name = unique.claim(std::move(node.name), first_output(node));
      ++index;
    }
  }

  static std::string_view first_output(const OnnxNode& node) {
    for (std::string_view output : node.outputs)
      if (!output.empty()) return output;
    return {};
  }

  OnnxNode node_from(const ProtoField& message, int depth) {
    OnnxNode node;
    node.bytes = message.bytes;
    each(message, [&](const ProtoField& field, Bytes) {
      switch (field.number) {
        case node_field::kInput: node.inputs.push_back(name_of(field)); break;
        case node_field::kOutput: node.outputs.push_back(name_of(field)); break;
        case node_field::kName: node.name = text(field); break;
        case node_field::kOpType: node.type = text(field); break;
        case node_field::kDomain: node.domain = text(field); break;
        case node_field::kAttribute: read_attribute(field, node, depth); break;
        default: break;
      }
    });
    if (node.name.empty()) node.name = first_output(node);
    read_captures(node, message.position);
    return node;
  }

  void read_attribute(const ProtoField& attribute, OnnxNode& node, int depth) {
    std::string_view name;
    std::optional<OnnxGraph> body;  // in several pieces they are one
    std::vector<OnnxGraph> bodies;
    each(attribute, [&](const ProtoField& field, Bytes) {
      switch (field.number) {
        case attribute_field::kName: name = text(field); break;
        case attribute_field::kTensor:
        case attribute_field::kTensors: node.is_external |= tensor_from(field).is_external; break;
        case attribute_field::kSparseTensor:
        case attribute_field::kSparseTensors:
          node.is_external |= sparse_from(field).is_external;
          break;
        case attribute_field::kGraph:
          if (!body) body.emplace();
          add_body(field, *body, depth + 1);
          break;
        case attribute_field::kGraphs: add_body(field, bodies.emplace_back(), depth + 1); break;
        default: break;
      }
    });
    if (body) bodies.push_back(std::move(*body));
    for (OnnxGraph& each_body : bodies) node.bodies.push_back({name, std::move(each_body)});
  }

  void add_body(const ProtoField& message, OnnxGraph& body, int depth) {
    take(sizeof(OnnxBody), message.position);
    if (depth > kMaxOnnxDepth)
      fail(message.position, fmt::format("bodies are nested more than {} deep", kMaxOnnxDepth));
    if (ok()) add_to_graph(message, body, depth);
  }

  void read_captures(OnnxNode& node, uint64_t position) {
    OnnxNames seen;
    for (const OnnxBody& body : node.bodies) {
      node.is_external |= body.graph.is_external();
      const OnnxNames defined = defined_names(body.graph);
      const auto read = [&](std::string_view name) {
        if (!name.empty() && defined.count(name) == 0 && seen.insert(name).second)
          node.captures.push_back(name);
      };
      for (const OnnxNode& inner : body.graph.nodes) each_read(inner, read);
      for (const OnnxValue& output : body.graph.outputs) read(output.name);
    }
    take(seen.size() * (sizeof(std::string_view) + kSetEntryBytes), position);
  }

  OnnxWeight weight_from(const ProtoField& field) {
    return field.number == graph_field::kInitializer ? tensor_from(field) : sparse_from(field);
  }

  OnnxWeight tensor_from(const ProtoField& message) {
    OnnxWeight tensor{message.bytes, {}, false, false};
    each(message, [&](const ProtoField& field, Bytes) {
      if (field.number == tensor_field::kName) tensor.name = name_of(field);
      if (field.number == tensor_field::kDataLocation) tensor.is_external = field.value == 1;
    });
    return tensor;
  }

  // It has the name of its values.
  OnnxWeight sparse_from(const ProtoField& message) {
    OnnxWeight sparse{message.bytes, {}, true, false};
    each(message, [&](const ProtoField& field, Bytes) {
      if (field.number != sparse_field::kValues && field.number != sparse_field::kIndices) return;
      const OnnxWeight part = tensor_from(field);
      if (field.number == sparse_field::kValues) sparse.name = part.name;
      sparse.is_external |= part.is_external;
    });
    return sparse;
  }

  void add_value(const ProtoField& field, std::vector<OnnxValue>& values) {
    take(sizeof(OnnxValue), field.position);
    if (ok()) values.push_back(value_from(field));
  }

  OnnxValue value_from(const ProtoField& message) {
    OnnxValue value{message.bytes, {}, {}};
    each(message, [&](const ProtoField& field, Bytes) {
      if (field.number == value_field::kName) value.name = name_of(field);
      if (field.number != value_field::kType) return;
      each(field, [&](const ProtoField& kind, Bytes) {
        if (kind.number != type_field::kTensor && kind.number != type_field::kSparseTensor) return;
        each(kind, [&](const ProtoField& part, Bytes) {
          if (part.number == tensor_type_field::kElementType)
            value.type.dtype = dtype_from_onnx(part.value);
          if (part.number == tensor_type_field::kShape) value.type.shape = shape_from(part);
        });
      });
    });
    return value;
  }

  Shape shape_from(const ProtoField& message) {
    Shape shape;
    each(message, [&](const ProtoField& dim, Bytes) {
      if (dim.number != shape_field::kDim) return;
      take(sizeof(int64_t), dim.position);
      shape.push_back(-1);
      each(dim, [&](const ProtoField& part, Bytes) {
        if (part.number == dim_field::kSize) shape.back() = static_cast<int64_t>(part.value);
      });
    });
    return shape;
  }

  // `visit` gets each field, and its bytes from the tag on.
  template <class Visit>
  void each(const ProtoField& message, Visit visit) {
    if (message.type != WireType::kBytes)
      return fail(message.position, fmt::format("field {} is not a message", message.number));
    ProtoReader reader(message);
    ProtoField field, next;
    bool more = reader.next(field);
    while (ok() && more) {
      more = reader.next(next);
      const uint64_t end = more ? next.position : message.content + message.bytes.size();
      if (!reader.ok()) break;
      visit(field, message.bytes.subspan(static_cast<size_t>(field.position - message.content),
                                         static_cast<size_t>(end - field.position)));
      field = next;
    }
    if (!reader.ok()) fail(reader.failed_at(), reader.problem());
  }

  std::string_view text(const ProtoField& field) {
    if (field.type != WireType::kBytes)
      fail(field.position, fmt::format("field {} is not text", field.number));
    return as_text(field.bytes);
  }

  // One that will be looked up: counted twice, for the list and for the set.
  std::string_view name_of(const ProtoField& field) {
    take(sizeof(std::string_view) + kSetEntryBytes, field.position);
    return text(field);
  }

  Bytes keep(Bytes raw, uint64_t position) {
    take(sizeof raw, position);
    return raw;
  }

  void take(size_t bytes, uint64_t position) {
    if (!limit_.take(bytes))
      fail(position,
           fmt::format("the nodes need more than {} times the file's size", MemoryLimit::kGrowth));
  }

  void fail(uint64_t position, std::string problem) {
    if (!ok()) return;
    failed_at_ = position;
    problem_ = std::move(problem);
  }

  Bytes file_;
  MemoryLimit limit_;
  uint64_t failed_at_ = 0;
  std::string problem_;
};

// Hands out a graph's fields in the order they are written: message by message, then those that are
// kept with their tags.
template <class Message, class Other>
void each_part(const OnnxGraph& graph, Message message, Other other) {
  for (const OnnxNode& node : graph.nodes) message(graph_field::kNode, node.bytes);
  if (!graph.name.empty()) message(graph_field::kName, as_bytes(graph.name));
  for (const OnnxWeight& weight : graph.initializers)
    message(weight.is_sparse ? graph_field::kSparseInitializer : graph_field::kInitializer,
            weight.bytes);
  for (const OnnxValue& value : graph.inputs) message(graph_field::kInput, value.bytes);
  for (const OnnxValue& value : graph.outputs) message(graph_field::kOutput, value.bytes);
  for (const OnnxValue& value : graph.value_infos) message(graph_field::kValueInfo, value.bytes);
  for (Bytes field : graph.other_fields) other(field);
}

size_t varint_bytes(uint64_t value) {
  size_t count = 1;
  for (; value >= 0x80; value >>= 7) ++count;
  return count;
}

size_t graph_bytes(const OnnxGraph& graph) {
  size_t total = 0;
  each_part(
      graph,
      [&](uint32_t number, Bytes bytes) {
        total += varint_bytes(uint64_t{number} << 3) + varint_bytes(bytes.size()) + bytes.size();
      },
      [&](Bytes field) { total += field.size(); });
  return total;
}

void append_graph(const OnnxGraph& graph, ProtoWriter& out) {
  each_part(
      graph, [&](uint32_t number, Bytes bytes) { out.message(number, bytes); },
      [&](Bytes field) { out.append(field); });
}

}  // namespace

std::string_view OnnxModel::keep(std::string text) {
  return *texts.emplace_back(std::make_shared<const std::string>(std::move(text)));
}

bool OnnxGraph::is_external() const {
  const auto elsewhere = [](const auto& part) { return part.is_external; };
  return std::any_of(initializers.begin(), initializers.end(), elsewhere) ||
         std::any_of(nodes.begin(), nodes.end(), elsewhere);
}

OnnxNames defined_names(const OnnxGraph& graph) {
  OnnxNames names;
  for (const OnnxValue& input : graph.inputs) names.insert(input.name);
  for (const OnnxWeight& weight : graph.initializers) names.insert(weight.name);
  for (const OnnxNode& node : graph.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  return names;
}

bool is_typed(const OnnxValue& value) { return !text_in(value.bytes, value_field::kType).empty(); }

std::vector<OnnxOpset> opsets_of(const OnnxModel& model) {
  std::vector<OnnxOpset> opsets;
  for (Bytes raw : model.other_fields)
    each_field(raw, [&](const ProtoField& field, Bytes) {
      if (field.number != model_field::kOpsetImport) return;
      OnnxOpset& opset = opsets.emplace_back();
      each_field(field.bytes, [&](const ProtoField& part, Bytes) {
        if (part.number == opset_field::kDomain) opset.domain = as_text(part.bytes);
        if (part.number == opset_field::kVersion) opset.version = static_cast<int64_t>(part.value);
      });
    });
  return opsets;
}

Error damaged_onnx(std::string where) {
  return {"the ONNX model is damaged", std::move(where),
          "copy the file again, or export the model again"};
}

Result<OnnxModel> read_onnx(Bytes file) {
  OnnxModel model;
  Reader reader(file);
  reader.read_model(model);
  if (!reader.ok()) return reader.error();
  return model;
}

Result<OnnxNode> read_onnx_node(Bytes bytes) {
  OnnxNode node;
  Reader reader(bytes);
  reader.read_node(node);
  if (!reader.ok()) return reader.error();
  return node;
}

std::string write_onnx(const OnnxModel& model) {
  // Sizes first: a graph of gigabytes is then copied once.
  const size_t graph = graph_bytes(model.graph);
  size_t total = graph + 32;
  for (Bytes field : model.other_fields) total += field.size();
  ProtoWriter out;
  out.reserve(total);
  if (model.ir_version)
    out.varint(model_field::kIrVersion, static_cast<uint64_t>(*model.ir_version));
  for (Bytes field : model.other_fields) out.append(field);
  out.begin(model_field::kGraph, graph);
  append_graph(model.graph, out);
  return std::move(out).take();
}

std::string write_onnx_graph(const OnnxGraph& graph) {
  ProtoWriter out;
  out.reserve(graph_bytes(graph));
  append_graph(graph, out);
  return std::move(out).take();
}

}  // namespace plumb::graph
