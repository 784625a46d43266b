// SPDX-License-Identifier: Apache-2.0
//
// OpenCV's DNN module: Caffe models, and ONNX models of its own subset. Layers of a Caffe model
// keep their names; those of ONNX models are called after the node, or after its output. A layer
// whose output is handed out is not fused: to see fusion, ask for the model's outputs only.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>

#include "engine/engine.h"

namespace plumb::engine {
namespace {

constexpr const char* kName = "OpenCV DNN";

struct TypePair {
  int depth;
  DType dtype;
};
constexpr TypePair kTypes[] = {
    {CV_32F, DType::kFloat32}, {CV_8U, DType::kUint8},   {CV_8S, DType::kInt8},
    {CV_16F, DType::kFloat16}, {CV_32S, DType::kInt32},  {CV_64F, DType::kFloat64},
    {CV_16S, DType::kInt16},   {CV_16U, DType::kUint16},
};

// The library's messages name its own source file first.
Error told_by(const std::exception& exception, std::string_view what) {
  const auto* own = dynamic_cast<const cv::Exception*>(&exception);
  std::string text = own == nullptr || own->err.empty() ? exception.what() : own->err;
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (own != nullptr && !own->func.empty()) text += ", in " + own->func;
  return {
      fmt::format("{} {}", kName, what), std::move(text),
      "run an ONNX model by --engine onnxruntime; for a Caffe model check prototxt, weights and "
      "the input's shape"};
}

Result<cv::Mat> mat_of(const TensorView& tensor, const std::string& name) {
  for (const TypePair& pair : kTypes) {
    if (pair.dtype != tensor.dtype) continue;
    std::vector<int> sizes;
    for (const int64_t size : tensor.shape) sizes.push_back(static_cast<int>(size));
    // The module does not write into inputs.
    if (!sizes.empty() && !tensor.bytes.empty())
      return cv::Mat(sizes, pair.depth, const_cast<std::byte*>(tensor.bytes.data()));
  }
  return Error{
      fmt::format("{} cannot be fed this tensor", kName),
      fmt::format("{}: {} of shape {}", name, name_of(tensor.dtype), to_string(tensor.shape)),
      "feed float32 with at least one axis and one element"};
}

Output output_of(const Port& port, const cv::Mat& mat) {
  for (const TypePair& pair : kTypes)
    if (pair.depth == mat.depth())
      return {port,
              TensorView{pair.dtype, Shape(mat.size.p, mat.size.p + mat.dims),
                         Bytes(reinterpret_cast<const std::byte*>(mat.data),
                               mat.total() * mat.elemSize())},
              {}};
  return {port, std::nullopt, fmt::format("a matrix of OpenCV type {}", mat.type())};
}

class OpencvSession : public Session {
 public:
  OpencvSession(cv::dnn::Net net, const Model& model, const SessionOptions& options)
      : net_(std::move(net)), inputs_(model.inputs) {
    const std::vector<std::string> layers = net_.getLayerNames();
    const auto has = [&](const std::string& name) {
      return std::find(layers.begin(), layers.end(), name) != layers.end();
    };
    std::vector<Capture> captured = options.captured;
    if (captured.empty())
      for (const std::string& name : net_.getUnconnectedOutLayersNames())
        captured.push_back({name, 0, name});
    for (const Capture& capture : captured) {
      outputs_.push_back({capture.tensor.empty() ? capture.op : capture.tensor, {}, {}, {}, {}});
      std::string layer;
      for (const std::string& name :
           {capture.op, "onnx_node!" + capture.op,
            fmt::format("onnx_node_output_{}!{}", capture.output, capture.tensor)})
        if (layer.empty() && has(name)) layer = name;
      // Its mask is never computed: what is handed out for it is no tensor.
      if (capture.output > 0 && !layer.empty() &&
          net_.getLayer(net_.getLayerId(layer))->type == "Dropout")
        layer.clear();
      places_.push_back({layer, static_cast<size_t>(std::max<int64_t>(capture.output, 0))});
      if (!layer.empty()) wanted_.push_back(layer);
    }
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  }

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }

  Result<void> run_on(const InputViews& inputs, const Take& take) override try {
    for (const Port& port : inputs_) {
      const auto given = inputs.find(port.name);
      if (given == inputs.end())
        return Error{"an input of the model is missing", port.name, "name a file for it"};
      auto mat = mat_of(given->second, port.name);
      if (!mat) return mat.error();
      net_.setInput(*mat, port.name);
    }
    const auto values = forward();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto found = std::lower_bound(wanted_.begin(), wanted_.end(), places_[i].layer);
      std::string problem;
      if (places_[i].layer.empty()) {
        problem = "the engine has no layer of that name: it was folded into others";
      } else {
        const auto& of_layer = values[static_cast<size_t>(found - wanted_.begin())];
        if (places_[i].output < of_layer.size()) {
          const cv::Mat mat = of_layer[places_[i].output].isContinuous()
                                  ? of_layer[places_[i].output]
                                  : of_layer[places_[i].output].clone();
          if (auto taken = take(output_of(outputs_[i], mat)); !taken) return taken;
          continue;
        }
        problem = fmt::format("the engine's layer has {} outputs", of_layer.size());
      }
      if (auto taken = take({outputs_[i], std::nullopt, problem}); !taken) return taken;
    }
    return {};
  } catch (const std::exception& exception) {
    return told_by(exception, "could not run the model");
  }

 private:
  // The outputs of `wanted_`. The module keeps only the first output of a layer from layers that
  // overwrite what they read, so one with several is run once more, up to itself; that uses memory
  // again, so all is copied before.
  std::vector<std::vector<cv::Mat>> forward() {
    std::vector<cv::Mat> first;
    if (!wanted_.empty()) net_.forward(first, wanted_);
    std::vector<std::vector<cv::Mat>> values(wanted_.size());
    std::set<std::string> several;
    for (const Place& place : places_)
      if (place.output > 0 && !place.layer.empty()) several.insert(place.layer);
    for (size_t i = 0; i < first.size(); ++i)
      values[i] = {several.empty() ? first[i] : first[i].clone()};
    for (size_t i = 0; i < values.size(); ++i) {
      if (!several.contains(wanted_[i])) continue;
      net_.forward(values[i], wanted_[i]);
      for (cv::Mat& mat : values[i]) mat = mat.clone();
    }
    return values;
  }

  struct Place {
    std::string layer;  // empty: there is none
    size_t output = 0;
  };
  cv::dnn::Net net_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Place> places_;        // of each output
  std::vector<std::string> wanted_;  // layers, sorted
};

class OpencvEngine : public Engine {
 public:
  std::string version() const override { return fmt::format("{} {}", kName, CV_VERSION); }

  Result<std::unique_ptr<Session>> open(const Model& model, const SessionOptions& options) override
      try {
    const auto text = [](Bytes bytes) { return reinterpret_cast<const char*>(bytes.data()); };
    // An ONNX file starts with the tag of its version, no text does.
    const bool is_onnx = !model.graph.empty() && model.graph.front() == std::byte{8};
    cv::dnn::Net net = is_onnx
                           ? cv::dnn::readNetFromONNX(text(model.graph), model.graph.size())
                           : cv::dnn::readNetFromCaffe(text(model.graph), model.graph.size(),
                                                       text(model.weights), model.weights.size());
    net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    net.enableFusion(options.optimization != Optimization::kDisabled);
    cv::setNumThreads(options.threads);
    return std::unique_ptr<Session>(new OpencvSession(std::move(net), model, options));
  } catch (const std::exception& exception) {
    return told_by(exception, "cannot load the model");
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void plumb_engine_3(Result<Engine*>* result) {
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  static OpencvEngine engine;
  *result = &engine;
}

}  // namespace plumb::engine
