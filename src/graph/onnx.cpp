// SPDX-License-Identifier: Apache-2.0
//
// The operators of an ONNX model (see onnx_model.h). Weights are stepped over, but for their ends,
// and files with external data never opened, so a model of gigabytes takes no longer than its list
// of nodes. The bodies of If, Loop and Scan become operators too; their `subgraph` is
// "<node>.<attribute>", since exporters give all bodies the same name.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "graph/memory_limit.h"
#include "graph/oddity.h"
#include "graph/onnx_build.h"
#include "graph/onnx_constant.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_model.h"
#include "graph/onnx_wire.h"
#include "graph/readers.h"
#include "graph/stored_layouts.h"

namespace plumb::graph {
namespace {

constexpr size_t kMapEntryBytes = 96;  // what a name costs in an unordered_map, about

std::optional<DType> narrow_of(uint64_t code) {
  const auto dtype = dtype_from_onnx(code);
  const bool is_narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return is_narrow ? dtype : std::nullopt;
}

std::optional<DType> narrow_type(const OnnxWeight& weight) {
  std::optional<DType> narrow;
  if (weight.is_sparse) return narrow;
  each_field(weight.bytes, [&](const ProtoField& field, Bytes) {
    if (field.number == tensor_field::kDataType) narrow = narrow_of(field.value);
  });
  return narrow;
}

// Of Cast, whose attribute `to` says it.
std::optional<DType> narrow_type(const OnnxNode& node) {
  std::optional<DType> narrow;
  if (node.type != "Cast" || !node.is_standard()) return narrow;
  each_field(node.bytes, [&](const ProtoField& field, Bytes) {
    if (field.number != node_field::kAttribute) return;
    if (text_in(field.bytes, attribute_field::kName) != "to") return;
    each_field(field.bytes, [&](const ProtoField& part, Bytes) {
      if (part.number == attribute_field::kInt) narrow = narrow_of(part.value);
    });
  });
  return narrow;
}

bool has_channels_last(const OnnxNode& node) {
  if (node.domain != "com.microsoft" && node.domain != "com.ms.internal.nhwc") return false;
  const auto value = attribute_of(node, "channels_last");
  const int64_t* is_set = value ? std::get_if<int64_t>(&*value) : nullptr;
  return node.type.starts_with("Nhwc") || (is_set != nullptr && *is_set == 1);
}

// Gives a tensor of the shape of what it reads, in whatever order that lies.
bool is_by_element(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "QLinearAdd", "QLinearMul", "QLinearLeakyRelu", "QLinearSigmoid",   "Add",
      "Mul",        "Relu",       "LeakyRelu",        "Sigmoid",          "Clip",
      "HardSwish",  "Tanh",       "QuantizeLinear",   "DequantizeLinear", "Cast"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

// Which tensor comes from where, in one graph and those around it; and of what type it is.
struct GraphScope {
  struct Producer {
    size_t op = 0;  // index in Graph::operators
    int64_t output = 0;
    const OnnxWeight* constant = nullptr;  // an initializer; nobody produces it
  };
  const GraphScope* outer = nullptr;
  std::unordered_map<std::string_view, Producer> producers;
  std::unordered_map<std::string_view, const OnnxType*> types;

  GraphScope(const OnnxGraph& graph, const GraphScope* around) : outer(around) {
    for (const OnnxWeight& weight : graph.initializers)
      producers.try_emplace(weight.name, Producer{0, 0, &weight});
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_infos})
      for (const OnnxValue& value : *list) types.try_emplace(value.name, &value.type);
  }

  const Producer* find(std::string_view name) const {
    for (const GraphScope* scope = this; scope != nullptr; scope = scope->outer)
      if (auto found = scope->producers.find(name); found != scope->producers.end())
        return &found->second;
    return nullptr;
  }
};

class GraphMaker {
 public:
  GraphMaker(Graph& out, Bytes file) : out_(out), file_(file), limit_(file.size()) {}

  std::vector<const OnnxNode*> nodes;  // by operator; null: none, but an input or a constant

  // False if the graph would take far more memory than the file; see `where`.
  bool make(const OnnxModel& model) {
    out_.name = model.graph.name;
    add_graph(model.graph, nullptr, "");
    add_properties(model);
    Oddity functions;
    for (Bytes raw : model.other_fields)
      each_field(raw, [&](const ProtoField& field, Bytes) {
        if (field.number == model_field::kFunctions)
          functions.add(text_in(field.bytes, function_field::kName));
      });
    functions.tell("functions of the model, not expanded; nodes that call them stay as they are",
                   out_.warnings);
    written_twice_.tell("tensors with several producers; the first is taken", out_.warnings);
    unknown_.tell("tensors that are read, but that nothing produces", out_.warnings);
    return !failed_at_;
  }

  std::string where() const {
    return fmt::format("byte {}: the nodes need more than {} times the file's size", *failed_at_,
                       MemoryLimit::kGrowth);
  }

 private:
  // Who wrote the model, and which version of the operators it means.
  void add_properties(const OnnxModel& model) {
    std::string producer, opsets;
    for (Bytes raw : model.other_fields)
      each_field(raw, [&](const ProtoField& field, Bytes) {
        if (field.number == model_field::kProducer) producer = as_text(field.bytes);
        if (field.number == model_field::kProducerVersion && !field.bytes.empty())
          producer += fmt::format("{}{}", producer.empty() ? "" : " ", as_text(field.bytes));
        if (field.number != model_field::kOpsetImport) return;
        const std::string_view domain = text_in(field.bytes, opset_field::kDomain);
        uint64_t version = 0;
        each_field(field.bytes, [&](const ProtoField& part, Bytes) {
          if (part.number == opset_field::kVersion) version = part.value;
        });
        opsets += fmt::format("{}{}{}{}", opsets.empty() ? "" : ", ", domain,
                              domain.empty() ? "" : " ", version);
      });
    if (!producer.empty()) out_.properties.emplace_back("producer", std::move(producer));
    if (!opsets.empty()) out_.properties.emplace_back("opset", std::move(opsets));
    if (model.ir_version)
      out_.properties.emplace_back("ir_version", std::to_string(*model.ir_version));
  }

  void add_graph(const OnnxGraph& graph, const GraphScope* outer, const std::string& subgraph) {
    const bool is_main = outer == nullptr;
    GraphScope scope(graph, outer);
    take(kMapEntryBytes * (scope.producers.size() + scope.types.size()), file_);
    for (const OnnxValue& input : graph.inputs)
      if (scope.producers.count(input.name) == 0)  // else a weight that may be replaced
        add_source(scope, input, "Data", subgraph);
    if (is_main) add_constant_outputs(scope, graph);
    const size_t first = out_.operators.size();
    for (const OnnxNode& node : graph.nodes)
      if (!failed_at_) add_node(scope, node, subgraph);
    for (size_t i = 0; i < graph.nodes.size() && !failed_at_; ++i)
      for (std::string_view input : graph.nodes[i].inputs)
        // An empty name stands for an optional input that is not given.
        if (!input.empty()) {
          Operator& op = out_.operators[first + i];
          connect(scope, input, op.inputs, &op.constants);
          const GraphScope::Producer* producer = scope.find(input);
          if (producer != nullptr && producer->constant != nullptr)
            if (const auto narrow = narrow_type(*producer->constant)) op.narrow = narrow;
        }
    for (size_t i = 0; i < graph.nodes.size() && !failed_at_; ++i)
      tell_layout(scope, graph.nodes[i], out_.operators[first + i]);
    if (is_main)
      for (const OnnxValue& output : graph.outputs)
        connect(scope, output.name, out_.outputs, nullptr);
    for (size_t i = 0; i < graph.nodes.size() && !failed_at_; ++i)
      add_bodies(scope, graph.nodes[i], out_.operators[first + i].name, subgraph);
  }

  // ONNX Runtime has operators of its own that store channels in blocks, or last. Others that read
  // such a tensor go through it element by element, and give one; nodes come after what they read.
  void tell_layout(const GraphScope& scope, const OnnxNode& node, Operator& op) const {
    const auto reads = [&](std::string_view layout) {
      return std::any_of(node.inputs.begin(), node.inputs.end(), [&](std::string_view input) {
        const GraphScope::Producer* producer = scope.find(input);
        if (producer == nullptr || producer->constant != nullptr) return false;
        const auto& outputs = out_.operators[producer->op].outputs;
        return outputs[static_cast<size_t>(producer->output)].layout == layout;
      });
    };
    const bool is_blocking = node.domain == "com.microsoft.nchwc";
    const char* layout = nullptr;
    if (is_blocking ? node.type != "ReorderOutput" : reads(kBlockedChannels))
      layout = kBlockedChannels;
    else if (has_channels_last(node) || (is_by_element(node.type) && reads(kChannelsLast)))
      layout = kChannelsLast;
    if (layout == nullptr) return;
    // As it is called elsewhere.
    if (is_blocking && node.type == "Conv" && attribute_of(node, "activation"))
      op.type = "FusedConv";
    for (Output& output : op.outputs) {
      output.layout = layout;
      output.shape.reset();  // what the file says is not that of the model's order
    }
  }

  // `name` is a copy: the list that it comes from grows.
  void add_bodies(const GraphScope& scope, const OnnxNode& node, const std::string name,
                  const std::string& subgraph) {
    for (const OnnxBody& body : node.bodies) {
      take(subgraph.size() + name.size() + body.attribute.size(), node.bytes);
      if (failed_at_) return;
      add_graph(
          body.graph, &scope,
          fmt::format("{}{}{}.{}", subgraph, subgraph.empty() ? "" : "/", name, body.attribute));
    }
  }

  // A model may give out a weight as it is: then that is an operator, too.
  void add_constant_outputs(GraphScope& scope, const OnnxGraph& graph) {
    for (const OnnxValue& output : graph.outputs) {
      const auto found = scope.producers.find(output.name);
      if (found == scope.producers.end() || found->second.constant == nullptr) continue;
      scope.producers.erase(found);
      add_source(scope, output, "Constant", "");
    }
  }

  void add_source(GraphScope& scope, const OnnxValue& value, const char* type,
                  const std::string& subgraph) {
    const size_t op = add_operator(subgraph, value.bytes);
    out_.operators[op].name = value.name;
    out_.operators[op].type = type;
    add_output(scope, op, value.name, value.bytes);
  }

  void add_node(GraphScope& scope, const OnnxNode& node, const std::string& subgraph) {
    const size_t index = add_operator(subgraph, node.bytes);
    nodes.back() = &node;
    Operator& op = out_.operators[index];
    op.type = node.type;
    op.narrow = narrow_type(node);
    op.name = node.name.empty() ? fmt::format("{}_{}", node.type, index) : node.name;
    take(kMapEntryBytes + op.name.size(), node.bytes);
    if (node.type == "Constant" && node.is_standard())
      each_field(node.bytes, [&](const ProtoField& field, Bytes) {
        if (field.number != node_field::kAttribute) return;
        each_field(field.bytes, [&](const ProtoField& value, Bytes) {
          if (value.number == attribute_field::kTensor)
            op.constants.push_back(constant_of(value.bytes));
        });
      });
    for (std::string_view output : node.outputs) add_output(scope, index, output, node.bytes);
  }

  size_t add_operator(const std::string& subgraph, Bytes message) {
    take(sizeof(Operator) + subgraph.size(), message);
    out_.operators.emplace_back().subgraph = subgraph;
    nodes.push_back(nullptr);
    return out_.operators.size() - 1;
  }

  void add_output(GraphScope& scope, size_t op, std::string_view name, Bytes message) {
    std::vector<Output>& outputs = out_.operators[op].outputs;
    const auto type = scope.types.find(name);
    const bool has_shape = type != scope.types.end() && type->second->shape;
    take(sizeof(Output) + kMapEntryBytes + (has_shape ? 8 * type->second->shape->size() : 0),
         message);
    if (failed_at_) return;
    Output& output = outputs.emplace_back();
    output.name = name;
    if (type != scope.types.end()) {
      output.dtype = type->second->dtype;
      output.shape = type->second->shape;
    }
    if (name.empty()) return;  // an optional output that nobody wants
    const auto number = static_cast<int64_t>(outputs.size() - 1);
    if (!scope.producers.try_emplace(name, GraphScope::Producer{op, number, nullptr}).second)
      written_twice_.add(name);
  }

  // `constants` gets what is read of a weight; null: nobody wants to know.
  void connect(const GraphScope& scope, std::string_view name, std::vector<Edge>& edges,
               std::vector<Constant>* constants) {
    const GraphScope::Producer* producer = scope.find(name);
    if (producer == nullptr) {
      unknown_.add(name);
      edges.push_back({});
    } else if (producer->constant != nullptr) {
      take(sizeof(Constant), file_);
      if (constants != nullptr && !failed_at_) constants->push_back(print_of(*producer->constant));
    } else {
      const std::string& producer_name = out_.operators[producer->op].name;
      take(sizeof(Edge) + producer_name.size(), file_);
      if (!failed_at_) edges.push_back({producer_name, producer->output});
    }
  }

  // Each weight is looked at once, though many may read it.
  Constant print_of(const OnnxWeight& weight) {
    const auto [found, is_new] = prints_.try_emplace(&weight);
    if (is_new && !weight.is_sparse) found->second = constant_of(weight.bytes);
    return found->second;
  }

  void take(size_t bytes, Bytes message) {
    if (!limit_.take(bytes) && !failed_at_)
      failed_at_ = static_cast<uint64_t>(message.data() - file_.data());
  }

  Graph& out_;
  Bytes file_;
  MemoryLimit limit_;
  std::optional<uint64_t> failed_at_;  // byte of the file
  Oddity written_twice_, unknown_;
  std::unordered_map<const OnnxWeight*, Constant> prints_;
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
  const auto model = read_onnx(file);
  if (!model) return model.error();
  auto operators = operators_of(*model, file);
  if (!operators) return operators.error();
  return std::move(operators->graph);
}

Result<OnnxOperators> operators_of(const OnnxModel& model, Bytes file) {
  OnnxOperators operators;
  GraphMaker maker(operators.graph, file);
  if (!maker.make(model)) return damaged_onnx(maker.where());
  operators.nodes = std::move(maker.nodes);
  return operators;
}

}  // namespace plumb::graph
