// SPDX-License-Identifier: Apache-2.0
//
// A model as its comparison with another sees it: beside the graph what its operators are told,
// attributes and constants, in one form for ONNX and Caffe. Attributes are there also where the
// file leaves them out, because they have a default.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/constant_tensor.h"
#include "graph/graph.h"
#include "plumb/result.h"

namespace plumb::graph {

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<double>, std::vector<std::string>>;
std::string to_text(const AttributeValue& value);
// Its numbers; nullopt for texts.
std::optional<std::vector<double>> numbers_of(const AttributeValue& value);

// What an operator reads in one slot.
struct Operand {
  std::string name;                                // of the tensor; empty: not given
  std::shared_ptr<const ConstantTensor> constant;  // null: computed while the model runs, or by
                                                   // what is not followed here
  bool is_stored = false;                          // by the model, if not as numbers we can read
  bool is_attribute = false;                       // told among the attributes
};

struct OperatorContent {
  std::map<std::string, AttributeValue, std::less<>> attributes;
  std::vector<std::string> computed;  // attributes that an input gives while the model runs
  std::vector<Operand> operands;      // inputs, then what the model stores for the operator (Caffe)
};

struct ModelPort {
  std::string name;
  std::optional<DType> dtype;
  std::optional<Shape> shape;  // -1: any size
};

struct ModelOpset {
  std::string domain;  // empty: the standard operators
  int64_t version = 0;
};

struct ModelContent {
  Graph graph;
  std::vector<OperatorContent> operators;  // by place in graph.operators
  std::vector<ModelPort> inputs, outputs;
  std::vector<ModelOpset> opsets;     // of ONNX
  std::shared_ptr<const void> owner;  // keeps the files mapped
};

// Of an .onnx, or of a .prototxt and the weights that belong to it; `weights` empty: those beside
// it (see find_caffe_weights). Told apart by content. Data in other files are read only below the
// directory of the model.
Result<ModelContent> load_content(const std::filesystem::path& model,
                                  const std::filesystem::path& weights = {});

// The parts of it, for load_content. The bytes stay with the caller.
struct DataPlace;
Result<ModelContent> content_from_onnx(Bytes file, const DataPlace& place);
Result<ModelContent> content_from_caffe(Bytes prototxt, Bytes weights);

// The weights of a Caffe network: of its name, else the only ones beside it.
Result<std::filesystem::path> find_caffe_weights(const std::filesystem::path& prototxt);

}  // namespace plumb::graph
