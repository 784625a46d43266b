// SPDX-License-Identifier: Apache-2.0
//
// An ONNX model taken apart just far enough to be edited. Messages stay the bytes they are in the
// file and are written again as they were: fields that nobody here knows, operators newer than any
// library and gigabytes of weights pass through untouched. Plain data: whoever edits adds and
// removes nodes and values. Described in onnx/onnx.proto of the ONNX project.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::graph {

struct OnnxBody;

using OnnxNames = std::unordered_set<std::string_view>;  // borrowed

// All views borrow from the file, or from OnnxModel::texts.
struct OnnxNode {
  Bytes bytes;  // NodeProto
  // Its own, else that of its first output, else "Type_7". In the main graph no two nodes share
  // one; in bodies they may, and some have none.
  std::string name;
  std::string_view type;
  std::string_view domain;
  std::vector<std::string_view> inputs, outputs;  // an empty name: not given, not wanted
  std::vector<OnnxBody> bodies;                   // in the order of the attributes
  std::vector<std::string_view> captures;  // what its bodies read from outside, each name once
  bool is_external = false;  // a tensor among its attributes has its data in another file

  bool is_standard() const { return domain.empty() || domain == "ai.onnx"; }
};

struct OnnxWeight {
  Bytes bytes;  // TensorProto or SparseTensorProto
  std::string_view name;
  bool is_sparse = false;
  bool is_external = false;  // its data are in another file
};

// Of a tensor, dense or sparse.
struct OnnxType {
  std::optional<DType> dtype;  // nullopt: not said, or no tensor of numbers that we know
  std::optional<Shape> shape;  // nullopt: not said; -1 for sizes known only when the model runs
};

struct OnnxValue {
  Bytes bytes;  // ValueInfoProto
  std::string_view name;
  OnnxType type;
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxWeight> initializers;
  std::vector<OnnxValue> inputs;  // initializers may be among them
  std::vector<OnnxValue> outputs;
  std::vector<OnnxValue> value_infos;
  std::vector<Bytes> other_fields;  // with their tags

  bool is_external() const;  // some data are in other files
};

// What an If, Loop or Scan runs.
struct OnnxBody {
  std::string_view attribute;  // "then_branch"
  OnnxGraph graph;
};

struct OnnxModel {
  std::optional<int64_t> ir_version;
  OnnxGraph graph;
  std::vector<Bytes> other_fields;  // opset_import, functions, ..., with their tags
  // What editing made. Never changed, so that copies of a model can share it.
  std::vector<std::shared_ptr<const std::string>> texts;

  std::string_view keep(std::string text);
  bool is_external() const { return graph.is_external(); }
};

// What a node reads: `visit` takes a name.
template <class Visit>
void each_read(const OnnxNode& node, Visit visit) {
  for (std::string_view name : node.inputs)
    if (!name.empty()) visit(name);
  for (std::string_view name : node.captures) visit(name);
}

// The tensors that a graph defines, without those of bodies in it.
OnnxNames defined_names(const OnnxGraph& graph);

// Has its type, if only as bytes that we do not understand: that of a sequence, say.
bool is_typed(const OnnxValue& value);

struct OnnxOpset {
  std::string_view domain;  // empty: the standard operators
  int64_t version = 0;
};
std::vector<OnnxOpset> opsets_of(const OnnxModel& model);

// The bytes must outlive the model and all its copies. What is accepted here can be walked through
// again, down to the last body, without looking for damage.
Result<OnnxModel> read_onnx(Bytes file);
std::string write_onnx(const OnnxModel& model);

// What all errors of readers say; `where` names the byte.
Error damaged_onnx(std::string where);

// Parts of a model: a node, a body (GraphProto).
Result<OnnxNode> read_onnx_node(Bytes node);
std::string write_onnx_graph(const OnnxGraph& graph);

}  // namespace plumb::graph
