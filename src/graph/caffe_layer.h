// SPDX-License-Identifier: Apache-2.0
//
// One layer of a Caffe network on its way to ONNX (see caffe_onnx.h), and the table of the layers
// that have one. A layer's function asks for parameters and blobs, and adds nodes. The first thing
// that is wrong sticks: what is asked for afterwards is harmless, so functions need not look.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model_content.h"
#include "graph/onnx_build.h"

namespace plumb::graph {

// What a layer reads, or gives.
struct CaffeBlob {
  std::string tensor;
  Shape shape;
};

// Whether a blob can have this shape: Caffe counts in 32 bits, and no axis is empty.
bool is_blob_shape(const Shape& shape);

// How many bottoms and tops a layer takes, and of how many axes; -1: any number.
struct CaffeForm {
  int64_t least_bottoms = 1, most_bottoms = 1;
  int64_t most_tops = 1;
  int64_t least_axes = 1, most_axes = -1;
};

class CaffeLayer {
 public:
  using Attributes = std::vector<OnnxAttribute>;
  using Names = std::vector<std::string>;

  // Borrows all of it. `tops` are the names of the tensors that it is to give.
  CaffeLayer(OnnxModel& model, UniqueNames& names, const Operator& op,
             const OperatorContent& content, std::vector<CaffeBlob> bottoms, Names tops);

  std::string_view type() const { return op_.type; }
  size_t bottoms() const { return bottoms_.size(); }
  size_t tops() const { return tops_.size(); }
  const std::string& bottom(size_t i = 0) const { return bottoms_[i].tensor; }
  const Shape& shape(size_t i = 0) const { return bottoms_[i].shape; }
  bool fits(const CaffeForm& form);  // false, and refused, if it does not

  // Parameters, by the name of their field. One that is not there is refused; `has` asks before.
  bool has(std::string_view field) const { return content_.attributes.contains(field); }
  int64_t integer(std::string_view field, int64_t least, int64_t most = kMostSize);
  std::vector<int64_t> integers(std::string_view field, int64_t least);  // none if not there
  std::array<int64_t, 2> height_and_width(std::string_view field, int64_t least);
  float number(std::string_view field);
  std::vector<float> numbers(std::string_view field);  // none if not there
  bool flag(std::string_view field);
  size_t choice(std::string_view field, std::span<const std::string_view> words);
  // Negative ones count from the end; `end` more are allowed than there are.
  size_t axis(std::string_view field, size_t axes, size_t end = 0);

  // What the .caffemodel has for it: as many numbers as `shape` says, whichever shape it is stored
  // in. The name of the tensor that holds them.
  size_t blobs() const { return blobs_.size(); }
  std::string blob(size_t i, const Shape& shape, std::string_view what);
  std::vector<float> blob_values(size_t i, int64_t count);
  // Constants of the translation.
  std::string constant(std::span<const float> values, const Shape& shape, std::string_view what);
  std::string constant(float value, std::string_view what) {
    return constant({&value, 1}, {}, what);
  }
  std::string constant(std::span<const int64_t> values, std::string_view what);

  // A node on the way, called "layer/what"; the name of what it gives.
  std::string step(std::string_view what, std::string_view type, const Names& inputs,
                   const Shape& shape, const Attributes& attributes = {});
  // The last node: what it gives are the tops.
  void give(std::string_view type, const Names& inputs, const Shape& shape,
            const Attributes& attributes = {});
  void give(std::string_view type, const Names& inputs, const std::vector<Shape>& shapes,
            const Attributes& attributes = {});
  void give_copies();  // each top is the first bottom

  void refuse(std::string problem, std::string remedy = {});
  bool ok() const { return !error_.has_value(); }
  Error take_error() { return std::move(*error_); }
  const std::vector<Shape>& given() const { return given_; }  // shapes of the tops

  static constexpr int64_t kMostSize = 2147483647;  // Caffe counts in 32 bits

 private:
  const AttributeValue* find(std::string_view field);
  std::optional<int64_t> whole(std::string_view field, double value, int64_t least, int64_t most);
  std::string unique(std::string_view what);
  std::string add_weight(const std::string& name, const OnnxTensor& tensor);
  void add_node(std::string name, std::string_view type, const Names& inputs, const Names& outputs,
                const std::vector<Shape>& shapes, const Attributes& attributes);

  OnnxModel& model_;
  UniqueNames& names_;
  const Operator& op_;
  const OperatorContent& content_;
  std::vector<CaffeBlob> bottoms_;
  Names tops_;
  std::vector<const ConstantTensor*> blobs_;
  std::vector<Shape> given_;
  std::optional<Error> error_;
};

// A line of the table of layers.
struct CaffeLayerKind {
  std::string_view type;
  void (*translate)(CaffeLayer& layer);
};
std::span<const CaffeLayerKind> caffe_layer_kinds();

// The functions behind the table, one file for each group.
namespace caffe_layers {
using Ints = std::vector<int64_t>;  // of an attribute

void convolution(CaffeLayer& layer);
void deconvolution(CaffeLayer& layer);
void inner_product(CaffeLayer& layer);
void batch_norm(CaffeLayer& layer);
constexpr size_t kBatchNormBlobs = 3;
void scaled_batch_norm(CaffeLayer& layer);  // with the blobs of a Scale behind its own
void scale(CaffeLayer& layer);
void bias(CaffeLayer& layer);
void prelu(CaffeLayer& layer);
void normalize(CaffeLayer& layer);

void pooling(CaffeLayer& layer);
void lrn(CaffeLayer& layer);
void mvn(CaffeLayer& layer);

void relu(CaffeLayer& layer);
void relu6(CaffeLayer& layer);
void sigmoid(CaffeLayer& layer);
void tanh(CaffeLayer& layer);
void elu(CaffeLayer& layer);
void bnll(CaffeLayer& layer);
void abs_val(CaffeLayer& layer);
void power(CaffeLayer& layer);
void exp(CaffeLayer& layer);
void log(CaffeLayer& layer);
void softmax(CaffeLayer& layer);
void eltwise(CaffeLayer& layer);
void dropout(CaffeLayer& layer);

void concat(CaffeLayer& layer);
void slice(CaffeLayer& layer);
void split(CaffeLayer& layer);
void crop(CaffeLayer& layer);
void reshape(CaffeLayer& layer);
void flatten(CaffeLayer& layer);
void permute(CaffeLayer& layer);
void shuffle_channel(CaffeLayer& layer);
void silence(CaffeLayer& layer);
}  // namespace caffe_layers

}  // namespace plumb::graph
