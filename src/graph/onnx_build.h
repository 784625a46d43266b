// SPDX-License-Identifier: Apache-2.0
//
// New parts for an ONNX model: nodes with attributes, initializers, values, imports of operator
// sets. What is made here lives in the model's memory (OnnxModel::keep) and becomes part of it when
// it is put into one of the lists of its graph.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/onnx_model.h"
#include "graph/unique_names.h"

namespace plumb::graph {

// Elements in plain order, packed as the type says; borrowed.
struct OnnxTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  Bytes bytes;
};

// A body is borrowed, too. Numbers are int64_t and float: write 0.5f.
struct OnnxAttribute {
  using Value = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                             std::vector<std::string>, OnnxTensor, const OnnxGraph*>;
  std::string name;
  Value value;
};

struct OnnxNodeParts {
  std::string type;
  std::vector<std::string> inputs = {}, outputs = {};  // an empty name: not given, not wanted
  std::vector<OnnxAttribute> attributes = {};
  std::vector<Bytes> copied = {};  // attributes of other nodes, as they are: see attributes_of
  std::string name = {};           // empty: that of its first output
  std::string domain = {};
};
// The types of tensors among the attributes must be ones that ONNX has.
Result<OnnxNode> make_node(OnnxModel& model, const OnnxNodeParts& parts);
OnnxNode make_identity(OnnxModel& model, std::string_view name, std::string_view input,
                       std::string_view output);

// An initializer. The type must be one that ONNX has.
Result<OnnxWeight> make_weight(OnnxModel& model, std::string_view name, const OnnxTensor& tensor);

// An input, an output or what is known of a tensor between. Without a type engines infer it.
OnnxValue make_value(OnnxModel& model, std::string_view name);
Result<OnnxValue> make_value(OnnxModel& model, std::string_view name, const OnnxType& type);

// The model's operators are those of this version of the set, whichever it named before.
void import_opset(OnnxModel& model, std::string_view domain, int64_t version);

// Every name of a tensor or a node, those in bodies included, but not those of one node and its
// bodies: for new ones that do not clash.
UniqueNames names_in(const OnnxGraph& graph, const OnnxNode* but = nullptr);

// The attributes of a node (AttributeProto), and the value of one of them: nullopt if there is none
// of that name, or if it is no number, text or list of them.
std::vector<Bytes> attributes_of(const OnnxNode& node);
std::optional<OnnxAttribute::Value> attribute_of(const OnnxNode& node, std::string_view name);

}  // namespace plumb::graph
