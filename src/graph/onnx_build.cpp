// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_build.h"

#include <bit>

#include <fmt/format.h>

#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"

namespace plumb::graph {
namespace {

Error not_in_onnx(std::string_view name, DType dtype, std::string_view rest) {
  return {"a tensor cannot become part of an ONNX model",
          fmt::format("'{}': {} {}", name, plumb::name_of(dtype), rest),
          "convert it to a type that ONNX has"};
}

Result<std::string> tensor_bytes(std::string_view name, const OnnxTensor& tensor) {
  const auto code = onnx_from_dtype(tensor.dtype);
  const auto count = element_count(tensor.shape);
  const auto needed = count ? byte_count(tensor.dtype, *count) : std::nullopt;
  if (!code || !needed || static_cast<uint64_t>(*needed) != tensor.bytes.size())
    return not_in_onnx(name, tensor.dtype,
                       fmt::format("{} in {} bytes", to_string(tensor.shape), tensor.bytes.size()));
  ProtoWriter proto;
  proto.packed(tensor_field::kDims, tensor.shape);
  proto.varint(tensor_field::kDataType, *code);
  proto.text(tensor_field::kName, name);
  proto.message(tensor_field::kRawData, tensor.bytes);
  return std::move(proto).take();
}

// Writes the value of an attribute into the field for its kind, and says which that is.
struct ValueWriter {
  std::string_view name;
  ProtoWriter& out;

  Result<uint32_t> operator()(int64_t value) const {
    out.varint_or_zero(attribute_field::kInt, static_cast<uint64_t>(value));
    return attribute_field::kInt;
  }
  Result<uint32_t> operator()(float value) const {
    out.fixed32(attribute_field::kFloat, std::bit_cast<uint32_t>(value));
    return attribute_field::kFloat;
  }
  Result<uint32_t> operator()(const std::string& value) const {
    out.message(attribute_field::kString, as_bytes(value));
    return attribute_field::kString;
  }
  Result<uint32_t> operator()(const std::vector<int64_t>& values) const {
    out.packed(attribute_field::kInts, values);
    return attribute_field::kInts;
  }
  Result<uint32_t> operator()(const std::vector<float>& values) const {
    out.text(attribute_field::kFloats, as_text(std::as_bytes(std::span(values))));
    return attribute_field::kFloats;
  }
  Result<uint32_t> operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) out.message(attribute_field::kStrings, as_bytes(value));
    return attribute_field::kStrings;
  }
  Result<uint32_t> operator()(const OnnxTensor& tensor) const {
    auto bytes = tensor_bytes(name, tensor);
    if (!bytes) return bytes.error();
    out.message(attribute_field::kTensor, as_bytes(*bytes));
    return attribute_field::kTensor;
  }
  Result<uint32_t> operator()(const OnnxGraph* body) const {
    out.message(attribute_field::kGraph, as_bytes(write_onnx_graph(*body)));
    return attribute_field::kGraph;
  }
};

// AttributeProto.type goes by the same order as the fields.
uint64_t type_of(uint32_t field) { return field - 1; }

void append_floats(const ProtoField& field, std::vector<float>& values) {
  if (field.type == WireType::kFixed32)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(field.value)));
  for (size_t at = 0; at + sizeof(float) <= field.bytes.size(); at += sizeof(float))
    values.push_back(load_le<float>(field.bytes.data() + at));
}

// What a writer left out because it is zero or empty is told by the type, where it is named.
std::optional<OnnxAttribute::Value> value_of(Bytes attribute) {
  uint64_t type = 0, found = 0;
  int64_t number = 0;
  float real = 0;
  std::string text;
  std::vector<int64_t> numbers;
  std::vector<float> reals;
  std::vector<std::string> texts;
  ProtoReader reader(attribute);
  for (ProtoField field; reader.next(field);) {
    if (field.number >= attribute_field::kFloat && field.number <= attribute_field::kGraphs)
      found = type_of(field.number);
    switch (field.number) {
      case attribute_field::kType: type = field.value; break;
      case attribute_field::kInt: number = static_cast<int64_t>(field.value); break;
      case attribute_field::kFloat:
        real = std::bit_cast<float>(static_cast<uint32_t>(field.value));
        break;
      case attribute_field::kString: text = as_text(field.bytes); break;
      case attribute_field::kInts: reader.append_varints(field, numbers, attribute.size()); break;
      case attribute_field::kFloats: append_floats(field, reals); break;
      case attribute_field::kStrings: texts.emplace_back(as_text(field.bytes)); break;
      default: break;
    }
  }
  switch ((type != 0 ? type : found) + 1) {
    case attribute_field::kInt: return number;
    case attribute_field::kFloat: return real;
    case attribute_field::kString: return text;
    case attribute_field::kInts: return numbers;
    case attribute_field::kFloats: return reals;
    case attribute_field::kStrings: return texts;
    default: return std::nullopt;
  }
}

void add_names(const OnnxGraph& graph, const OnnxNode* but, UniqueNames& names) {
  for (std::string_view name : defined_names(graph)) names.add(name);
  for (const OnnxValue& output : graph.outputs) names.add(output.name);
  for (const OnnxNode& node : graph.nodes) {
    if (&node == but) continue;
    names.add(node.name);
    each_read(node, [&](std::string_view name) { names.add(name); });
    for (const OnnxBody& body : node.bodies) add_names(body.graph, but, names);
  }
}

}  // namespace

Result<OnnxNode> make_node(OnnxModel& model, const OnnxNodeParts& parts) {
  ProtoWriter node;
  for (const std::string& input : parts.inputs) node.message(node_field::kInput, as_bytes(input));
  for (const std::string& output : parts.outputs)
    node.message(node_field::kOutput, as_bytes(output));
  node.text(node_field::kName, parts.name);
  node.text(node_field::kOpType, parts.type);
  for (const OnnxAttribute& attribute : parts.attributes) {
    ProtoWriter proto;
    proto.text(attribute_field::kName, attribute.name);
    const auto field = std::visit(ValueWriter{attribute.name, proto}, attribute.value);
    if (!field) return field.error();
    proto.varint(attribute_field::kType, type_of(*field));
    node.message(node_field::kAttribute, proto);
  }
  for (Bytes attribute : parts.copied) node.message(node_field::kAttribute, attribute);
  node.text(node_field::kDomain, parts.domain);
  return read_onnx_node(as_bytes(model.keep(std::move(node).take())));
}

OnnxNode make_identity(OnnxModel& model, std::string_view name, std::string_view input,
                       std::string_view output) {
  // It has no attributes, the only thing that could be wrong.
  return *make_node(model, {.type = "Identity",
                            .inputs = {std::string(input)},
                            .outputs = {std::string(output)},
                            .name = std::string(name)});
}

Result<OnnxWeight> make_weight(OnnxModel& model, std::string_view name, const OnnxTensor& tensor) {
  auto text = tensor_bytes(name, tensor);
  if (!text) return text.error();
  const Bytes bytes = as_bytes(model.keep(std::move(*text)));
  return OnnxWeight{bytes, text_in(bytes, tensor_field::kName), false, false};
}

OnnxValue make_value(OnnxModel& model, std::string_view name) {
  return *make_value(model, name, {});  // no type, none that ONNX has not
}

Result<OnnxValue> make_value(OnnxModel& model, std::string_view name, const OnnxType& type) {
  ProtoWriter value;
  value.text(value_field::kName, name);
  if (type.dtype) {
    const auto code = onnx_from_dtype(*type.dtype);
    if (!code) return not_in_onnx(name, *type.dtype, "is to be its type");
    ProtoWriter tensor, shape, wrapped;
    tensor.varint(tensor_type_field::kElementType, *code);
    if (type.shape) {
      for (int64_t size : *type.shape) {
        ProtoWriter dim;
        // No size at all means any size.
        if (size >= 0) dim.varint_or_zero(dim_field::kSize, static_cast<uint64_t>(size));
        shape.message(shape_field::kDim, dim);
      }
      tensor.message(tensor_type_field::kShape, shape);
    }
    wrapped.message(type_field::kTensor, tensor);
    value.message(value_field::kType, wrapped);
  }
  const Bytes bytes = as_bytes(model.keep(std::move(value).take()));
  return OnnxValue{bytes, text_in(bytes, value_field::kName), type};
}

void import_opset(OnnxModel& model, std::string_view domain, int64_t version) {
  const auto plain = [](std::string_view name) { return name == "ai.onnx" ? "" : name; };
  std::erase_if(model.other_fields, [&](Bytes raw) {
    bool is_this = false;
    each_field(raw, [&](const ProtoField& field, Bytes) {
      is_this = field.number == model_field::kOpsetImport &&
                plain(text_in(field.bytes, opset_field::kDomain)) == plain(domain);
    });
    return is_this;
  });
  ProtoWriter opset, field;
  opset.message(opset_field::kDomain, as_bytes(domain));
  opset.varint(opset_field::kVersion, static_cast<uint64_t>(version));
  field.message(model_field::kOpsetImport, opset);
  model.other_fields.push_back(as_bytes(model.keep(std::move(field).take())));
}

UniqueNames names_in(const OnnxGraph& graph, const OnnxNode* but) {
  UniqueNames names;
  add_names(graph, but, names);
  return names;
}

std::vector<Bytes> attributes_of(const OnnxNode& node) {
  std::vector<Bytes> attributes;
  each_field(node.bytes, [&](const ProtoField& field, Bytes) {
    if (field.number == node_field::kAttribute) attributes.push_back(field.bytes);
  });
  return attributes;
}

std::optional<OnnxAttribute::Value> attribute_of(const OnnxNode& node, std::string_view name) {
  for (Bytes attribute : attributes_of(node))
    if (text_in(attribute, attribute_field::kName) == name) return value_of(attribute);
  return std::nullopt;
}

}  // namespace plumb::graph
