// SPDX-License-Identifier: Apache-2.0
//
// A float model as quantization works on it: weights inside, batch normalisation folded into the
// convolution before it, operators that do nothing gone. It computes what the original computes, up
// to rounding; tensors that are left have the names they had.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/model_content.h"
#include "graph/onnx_model.h"
#include "graph/onnx_wiring.h"

namespace plumb::graph {
struct DataPlace;
}

namespace plumb::quant {

struct PreparedModel {
  std::string file;             // ONNX
  graph::OnnxModel model;       // what is in it
  graph::ModelContent content;  // ... and what its operators are told
  // By node: what users know it as, where that is not its own name. A convolution that took in a
  // batch normalisation gives the tensor of the latter, by its name.
  std::map<std::string, std::string, std::less<>> layer_names;
  std::vector<std::string> notes;  // what was done

  PreparedModel() = default;
  PreparedModel(const PreparedModel&) = delete;
  PreparedModel& operator=(const PreparedModel&) = delete;

  const graph::OnnxNode& node(size_t place) const { return model.graph.nodes[place]; }
  const std::string& layer_name(const graph::OnnxNode& node) const;
  // Of a node at the surface; attributes with their defaults.
  const graph::OperatorContent& content_of(const graph::OnnxNode& node) const;
  // What a node reads at this place, if it is a constant of floats; null if it is not.
  const graph::ConstantTensor* constant(const graph::OnnxNode& node, size_t input) const;
  // An attribute that is a whole number; `otherwise` if it has none of that name.
  int64_t number_of(const graph::OnnxNode& node, std::string_view attribute,
                    int64_t otherwise) const;

  std::unordered_map<std::string, size_t> content_places;  // by name, in content.operators
};

// Null never. The file may be one whose data are elsewhere.
Result<std::unique_ptr<PreparedModel>> prepare_model(Bytes file, const graph::DataPlace& place);

// All numbers of a constant, as float32.
std::vector<float> floats_of(const graph::ConstantTensor& constant);

// Takes out initializers and Constant nodes that nobody reads any more.
void drop_unread(graph::OnnxModel& model);

bool is_model_output(const graph::OnnxModel& model, std::string_view tensor);

// The version of the standard operators that a model uses.
int64_t opset_of(const graph::OnnxModel& model);

}  // namespace plumb::quant
