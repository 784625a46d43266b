// SPDX-License-Identifier: Apache-2.0
//
// ONNX models, described in onnx/onnx.proto of the ONNX project. Weights are stepped over and files
// with external data never opened, so a model of gigabytes takes no longer than its list of nodes.
// The bodies of If, Loop and Scan become operators too; their `subgraph` is "<node>.<attribute>",
// since exporters give all bodies the same name.
#include <optional>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "base/proto_wire.h"
#include "graph/memory_limit.h"
#include "graph/oddity.h"
#include "graph/onnx_fields.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

constexpr size_t kMapEntryBytes = 96;  // what a name costs in an unordered_map, about

struct TensorType {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
};

// Which tensor comes from where, in one graph and those around it.
struct Scope {
  struct Producer {
    size_t op = 0;  // index in Graph::operators
    int64_t output = 0;
    bool is_constant = false;  // an initializer; nobody produces it
  };
  const Scope* outer = nullptr;
  std::unordered_map<std::string_view, Producer> producers;

  const Producer* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
      if (auto found = scope->producers.find(name); found != scope->producers.end())
        return &found->second;
    return nullptr;
  }
};

class ModelReader {
 public:
  ModelReader(Graph& out, size_t file_bytes) : out_(out), limit_(file_bytes) {}

  void read(Bytes file) {
    ProtoReader reader(file);
    ProtoField field;
    std::vector<ProtoField> pieces;  // of the one graph, as in all of protobuf
    while (ok() && reader.next(field)) {
      if (field.number == model_field::kGraph) {
        take(sizeof field, field.position);
        pieces.push_back(field);
      }
      if (field.number == model_field::kFunctions) functions_.add(name_in(field, 1));
    }
    if (!pieces.empty()) read_graph(pieces, nullptr, "", 0);
    if (!reader.ok()) fail(reader.failed_at(), reader.problem());
    if (pieces.empty()) fail(0, "there is no graph in the file");
    functions_.tell("functions of the model, not expanded; nodes that call them stay as they are",
                    out_.warnings);
    written_twice_.tell("tensors with several producers; the first is taken", out_.warnings);
    unknown_.tell("tensors that are read, but that nothing produces", out_.warnings);
  }

  bool ok() const { return problem_.empty(); }
  std::string where() const { return fmt::format("byte {}: {}", failed_at_, problem_); }

 private:
  struct Input {
    size_t op;
    std::string_view name;
  };
  struct Body {
    size_t op;
    std::string_view attribute;
    ProtoField graph;
  };
  // What is known of one graph before its nodes are read, and what they leave to be done.
  struct Draft {
    Scope scope;
    std::unordered_map<std::string_view, TensorType> types;
    std::vector<std::string_view> inputs, outputs;
    std::vector<Input> node_inputs;
    std::vector<Body> bodies;
  };

  void read_graph(std::span<const ProtoField> pieces, const Scope* outer,
                  const std::string& subgraph, int depth) {
    const ProtoField& graph = pieces.front();
    const auto each_field = [&](auto visit) {
      for (const ProtoField& piece : pieces) each(piece, visit);
    };
    if (depth > kMaxOnnxDepth)
      return fail(graph.position,
                  fmt::format("bodies are nested more than {} deep", kMaxOnnxDepth));
    Draft draft;
    draft.scope.outer = outer;
    std::string_view name;
    each_field([&](const ProtoField& field) {
      switch (field.number) {
        case graph_field::kName: name = text(field); break;
        case graph_field::kInitializer: add_constant(draft, name_in(field, 8)); break;
        case graph_field::kSparseInitializer:
          each(field, [&](const ProtoField& part) {
            if (part.number == 1) add_constant(draft, name_in(part, 8));
          });
          break;
        case graph_field::kInput: draft.inputs.push_back(read_type(draft, field)); break;
        case graph_field::kOutput: draft.outputs.push_back(read_type(draft, field)); break;
        case graph_field::kValueInfo: read_type(draft, field); break;
        default: break;
      }
    });
    if (depth == 0) out_.name = name;

    for (std::string_view input : draft.inputs) {
      if (draft.scope.producers.count(input) != 0) continue;  // a weight that may be replaced
      const size_t op = add_operator(subgraph, graph.position);
      out_.operators[op].name = subgraph.empty() ? names_.claim(std::string(input)) : input;
      out_.operators[op].type = "Data";
      add_output(draft, op, input, graph.position);
    }
    if (depth == 0) add_constant_outputs(draft, graph.position);
    each_field([&](const ProtoField& field) {
      if (field.number == graph_field::kNode) read_node(draft, field, subgraph);
    });
    for (const Input& input : draft.node_inputs) {
      if (!ok()) return;
      connect(draft.scope, input.name, out_.operators[input.op].inputs);
    }
    if (depth == 0)
      for (std::string_view output : draft.outputs) connect(draft.scope, output, out_.outputs);
    for (const Body& body : draft.bodies) {
      if (!ok()) return;
      const std::string& node = out_.operators[body.op].name;
      take(subgraph.size() + node.size() + body.attribute.size(), body.graph.position);
      if (!ok()) return;
      const std::string path =
          fmt::format("{}{}{}.{}", subgraph, subgraph.empty() ? "" : "/", node, body.attribute);
      read_graph({&body.graph, 1}, &draft.scope, path, depth + 1);
    }
  }

  void read_node(Draft& draft, const ProtoField& node, const std::string& subgraph) {
    const size_t index = add_operator(subgraph, node.position);
    if (!ok()) return;
    std::string name, type;
    each(node, [&](const ProtoField& field) {
      switch (field.number) {
        case node_field::kName: name = text(field); break;
        case node_field::kOpType: type = text(field); break;
        case node_field::kOutput: add_output(draft, index, text(field), field.position); break;
        case node_field::kInput:
          // An empty name stands for an optional input that is not given.
          if (const std::string_view input = text(field); !input.empty())
            draft.node_inputs.push_back({index, input});
          break;
        case node_field::kAttribute: find_bodies(draft, index, field); break;
        default: break;
      }
    });
    if (!ok()) return;
    Operator& op = out_.operators[index];
    op.type = std::move(type);
    std::string_view first;  // names of nodes are optional, those of tensors are not
    for (const Output& output : op.outputs)
      if (first.empty()) first = output.name;
    if (name.empty()) name = first;
    if (name.empty()) name = fmt::format("{}_{}", op.type, index);
    take(kMapEntryBytes + name.size(), node.position);
    op.name = subgraph.empty() ? names_.claim(std::move(name), first) : std::move(name);
  }

  // A model may give out a weight as it is: then that is an operator, too.
  void add_constant_outputs(Draft& draft, uint64_t position) {
    for (const std::string_view output : draft.outputs) {
      const auto found = draft.scope.producers.find(output);
      if (found == draft.scope.producers.end() || !found->second.is_constant) continue;
      draft.scope.producers.erase(found);
      const size_t op = add_operator("", position);
      out_.operators[op].name = names_.claim(std::string(output));
      out_.operators[op].type = "Constant";
      add_output(draft, op, output, position);
    }
  }

  void find_bodies(Draft& draft, size_t op, const ProtoField& attribute) {
    std::string_view name;
    const size_t first = draft.bodies.size();
    each(attribute, [&](const ProtoField& field) {
      if (field.number == attribute_field::kName) name = text(field);
      if (field.number == attribute_field::kGraph || field.number == attribute_field::kGraphs)
        draft.bodies.push_back({op, {}, field});
    });
    for (size_t i = first; i < draft.bodies.size(); ++i) draft.bodies[i].attribute = name;
  }

  size_t add_operator(const std::string& subgraph, uint64_t position) {
    take(sizeof(Operator) + subgraph.size(), position);
    out_.operators.emplace_back().subgraph = subgraph;
    return out_.operators.size() - 1;
  }

  void add_output(Draft& draft, size_t op, std::string_view name, uint64_t position) {
    std::vector<Output>& outputs = out_.operators[op].outputs;
    const auto type = draft.types.find(name);
    const bool has_shape = type != draft.types.end() && type->second.shape;
    take(sizeof(Output) + kMapEntryBytes + (has_shape ? 8 * type->second.shape->size() : 0),
         position);
    if (!ok()) return;
    Output& output = outputs.emplace_back();
    output.name = name;
    if (type != draft.types.end()) {
      output.dtype = type->second.dtype;
      output.shape = type->second.shape;
    }
    if (name.empty()) return;  // an optional output that nobody wants
    const auto number = static_cast<int64_t>(outputs.size() - 1);
    if (!draft.scope.producers.try_emplace(name, Scope::Producer{op, number, false}).second)
      written_twice_.add(name);
  }

  void add_constant(Draft& draft, std::string_view name) {
    take(kMapEntryBytes, 0);
    draft.scope.producers.try_emplace(name, Scope::Producer{0, 0, true});
  }

  void connect(const Scope& scope, std::string_view name, std::vector<Edge>& edges) {
    const Scope::Producer* producer = scope.find(name);
    if (producer == nullptr) {
      unknown_.add(name);
      edges.push_back({});
    } else if (!producer->is_constant) {
      const std::string& producer_name = out_.operators[producer->op].name;
      take(sizeof(Edge) + producer_name.size(), 0);
      if (ok()) edges.push_back({producer_name, producer->output});
    }
  }

  // The name of a ValueInfoProto, whose type is remembered.
  std::string_view read_type(Draft& draft, const ProtoField& info) {
    std::string_view name;
    TensorType type;
    each(info, [&](const ProtoField& field) {
      if (field.number == 1) name = text(field);
      if (field.number != 2) return;
      each(field, [&](const ProtoField& kind) {
        if (kind.number != 1 && kind.number != 8) return;  // not a tensor, dense or sparse
        each(kind, [&](const ProtoField& part) {
          if (part.number == 1) type.dtype = dtype_from_onnx(part.value);
          if (part.number == 2) type.shape = read_shape(part);
        });
      });
    });
    take(kMapEntryBytes + sizeof(TensorType), info.position);
    draft.types.try_emplace(name, std::move(type));
    return name;
  }

  // -1 for sizes that are not known before the model runs.
  Shape read_shape(const ProtoField& message) {
    Shape shape;
    each(message, [&](const ProtoField& dim) {
      if (dim.number != 1) return;
      shape.push_back(-1);
      each(dim, [&](const ProtoField& part) {
        if (part.number == 1) shape.back() = static_cast<int64_t>(part.value);
      });
    });
    return shape;
  }

  std::string_view name_in(const ProtoField& message, uint32_t number) {
    std::string_view name;
    each(message, [&](const ProtoField& field) {
      if (field.number == number) name = text(field);
    });
    return name;
  }

  template <class Visit>
  void each(const ProtoField& message, Visit visit) {
    if (message.type != WireType::kBytes)
      return fail(message.position, fmt::format("field {} is not a message", message.number));
    ProtoReader reader(message);
    ProtoField field;
    while (ok() && reader.next(field)) visit(field);
    if (!reader.ok()) fail(reader.failed_at(), reader.problem());
  }

  std::string_view text(const ProtoField& field) {
    if (field.type != WireType::kBytes)
      fail(field.position, fmt::format("field {} is not text", field.number));
    return as_text(field.bytes);
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

  Graph& out_;
  MemoryLimit limit_;
  uint64_t failed_at_ = 0;
  std::string problem_;
  UniqueNames names_;  // of the main graph
  Oddity functions_, written_twice_, unknown_;
};

}  // namespace

// A ModelProto starts with its version, and none of the fields before the graph are like those of
// other messages: a TensorProto has a number where this one has the producer's name.
bool is_onnx(Bytes head) {
  ProtoReader reader(head);
  ProtoField field;
  bool has_version = false;
  const auto fits = [&] {
    if (field.number == model_field::kIrVersion || field.number == 5)
      return field.type == WireType::kVarint && field.value < 1000;
    return field.number <= model_field::kFunctions && field.type == WireType::kBytes;
  };
  while (reader.next(field)) {
    if (!fits()) return false;
    if (field.number == model_field::kIrVersion) has_version = true;
    if (field.number == model_field::kGraph) return has_version;
  }
  return has_version && reader.missing() > 0 && fits();
}

Result<Graph> graph_from_onnx(Bytes file) {
  Graph graph;
  ModelReader reader(graph, file.size());
  reader.read(file);
  if (!reader.ok())
    return Error{"the ONNX model is damaged", reader.where(),
                 "copy the file again, or export the model again"};
  return graph;
}

}  // namespace plumb::graph
