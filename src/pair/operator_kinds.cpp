// SPDX-License-Identifier: Apache-2.0
#include "pair/operator_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

namespace plumb::pair {
namespace {

using graph::Operator;

template <size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <size_t n>
bool ends_in(std::string_view name, const std::array<std::string_view, n>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

// One word for what frameworks and compilers call differently.
std::string kind_of_type(std::string_view type) {
  static const std::unordered_map<std::string_view, std::string_view> kinds = {
      {"Conv2D", "conv"},
      {"Convolution", "conv"},
      {"Conv", "conv"},
      {"DepthwiseConv2D", "conv"},
      {"DepthwiseConv2dNative", "conv"},
      {"QLinearConv", "conv"},
      {"FusedConv", "conv"},
      {"NhwcFusedConv", "conv"},
      {"ConvInteger", "conv"},
      {"BatchNorm", "bn"},
      {"BatchNormalization", "bn"},
      {"BNInference", "bn"},
      {"BNInferenceD", "bn"},
      {"BatchNormExt2", "bn"},
      {"FusedBatchNorm", "bn"},
      {"Scale", "scale"},
      {"ReLU", "relu"},
      {"Relu", "relu"},
      {"Relu6", "relu6"},
      {"ReLU6", "relu6"},
      {"Clip", "clip"},
      {"ClipByValue", "clip"},
      {"LeakyRelu", "leakyrelu"},
      {"LeakyReLU", "leakyrelu"},
      {"QLinearLeakyRelu", "leakyrelu"},
      {"PReLU", "prelu"},
      {"PRelu", "prelu"},
      {"Sigmoid", "sigmoid"},
      {"QLinearSigmoid", "sigmoid"},
      {"Tanh", "tanh"},
      {"TanH", "tanh"},
      {"Pooling", "pool"},
      {"MaxPool", "pool"},
      {"MaxPoolV3", "pool"},
      {"AvgPool", "pool"},
      {"AvgPoolV2", "pool"},
      {"AveragePool", "pool"},
      {"GlobalAveragePool", "pool"},
      {"GlobalAvgPool", "pool"},
      {"ReduceMeanD", "pool"},
      {"ReduceMean", "pool"},
      {"QLinearGlobalAveragePool", "pool"},
      {"QLinearAveragePool", "pool"},
      {"InnerProduct", "fc"},
      {"FullyConnection", "fc"},
      {"Gemm", "fc"},
      {"MatMul", "fc"},
      {"MatMulV2", "fc"},
      {"BatchMatMul", "fc"},
      {"BatchMatMulV2", "fc"},
      {"FusedGemm", "fc"},
      {"FusedMatMul", "fc"},
      {"QGemm", "fc"},
      {"QLinearMatMul", "fc"},
      {"MatMulInteger", "fc"},
      {"Softmax", "softmax"},
      {"SoftmaxV2", "softmax"},
      {"QLinearSoftmax", "softmax"},
      {"LogSoftmax", "logsoftmax"},
      {"LogSoftmaxV2", "logsoftmax"},
      {"Concat", "concat"},
      {"ConcatD", "concat"},
      {"ConcatV2", "concat"},
      {"ConcatV2D", "concat"},
      {"QLinearConcat", "concat"},
      {"Split", "split"},
      {"SplitD", "split"},
      {"SplitV", "split"},
      {"SplitVD", "split"},
      {"Slice", "slice"},
      {"SliceD", "slice"},
      {"StridedSlice", "slice"},
      {"StridedSliceD", "slice"},
      {"Pad", "pad"},
      {"PadD", "pad"},
      {"PadV3", "pad"},
      {"PadV3D", "pad"},
      {"ZeroPad2D", "pad"},
      {"Eltwise", "add"},
      {"Add", "add"},
      {"AddV2", "add"},
      {"QLinearAdd", "add"},
      {"BiasAdd", "biasadd"},
      {"Bias", "biasadd"},
      {"Mul", "mul"},
      {"Multiply", "mul"},
      {"QLinearMul", "mul"},
      {"Reshape", "reshape"},
      {"Flatten", "reshape"},
      {"FlattenV2", "reshape"},
      {"Squeeze", "reshape"},
      {"Unsqueeze", "reshape"},
      {"Transpose", "transpose"},
      {"TransposeD", "transpose"},
      {"Permute", "transpose"},
      {"Dropout", "identity"},
      {"Identity", "identity"},
      {"Data", "data"},
      {"Input", "data"},
      {"Placeholder", "data"},
      {"AippData", "data"},
      {"Upsample", "resize"},
      {"Resize", "resize"},
      {"ResizeNearestNeighborV2", "resize"},
      {"ResizeBilinearV2", "resize"}};
  if (const auto found = kinds.find(type); found != kinds.end()) return std::string(found->second);
  std::string kind(type);
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind;
}

bool hands_on(std::string_view kind) {
  return is_one_of(
      kind, std::to_array<std::string_view>({"identity", "quantizelinear", "dequantizelinear",
                                             "reorderinput", "reorderoutput"}));
}

bool commutes(std::string_view kind) {
  return is_one_of(kind,
                   std::to_array<std::string_view>({"add", "mul", "max", "min", "sum", "eltwise"}));
}

bool has_weights(std::string_view kind) {
  return is_one_of(kind, std::to_array<std::string_view>(
                             {"conv", "convtranspose", "fc", "bn", "scale", "biasadd"}));
}

bool is_affine(std::string_view kind, size_t inputs) {
  if (is_one_of(kind, std::to_array<std::string_view>({"bn", "scale", "biasadd"}))) return true;
  return inputs == 1 &&
         is_one_of(kind, std::to_array<std::string_view>({"add", "sub", "mul", "div"}));
}

bool is_prefix(std::string_view kind) { return kind == "pad"; }

bool moves(std::string_view kind) { return kind == "reshape" || kind == "transpose"; }

bool keeps_values(std::string_view type) {
  return is_one_of(type, std::to_array<std::string_view>({"TransData", "Cast", "TransDataRNN"}));
}

bool keeps_scale(std::string_view type) {
  return keeps_values(type) ||
         is_one_of(type,
                   std::to_array<std::string_view>(
                       {"Reshape", "Flatten", "FlattenV2", "Squeeze", "Unsqueeze", "Transpose",
                        "TransposeD", "Split", "SplitD", "SplitV", "SplitVD", "Slice", "SliceD",
                        "StridedSlice", "StridedSliceD", "MaxPool", "MaxPoolV3", "Identity"}));
}

bool is_never_dumped(const Operator& op) {
  return is_one_of(op.type, std::to_array<std::string_view>({"Data", "AippData", "RefData", "Const",
                                                             "Constant", "Variable", "NetOutput",
                                                             "NoOp", "Input", "Placeholder"}));
}

bool gives_ids(std::string_view type) {
  return is_one_of(type, std::to_array<std::string_view>(
                             {"ArgMax", "ArgMin", "ArgMaxV2", "ArgMaxD", "ArgMinD",
                              "NonMaxSuppression", "NonMaxSuppressionV3", "NonZero", "OneHot"}));
}

bool gives_shares(std::string_view type) {
  const std::string kind = kind_of_type(type);
  return kind == "sigmoid" || kind == "softmax";
}

bool quantizes(std::string_view type) {
  return is_one_of(type, std::to_array<std::string_view>(
                             {"QuantizeLinear", "Quantize", "AscendQuant", "AscendQuantV2"}));
}

bool gives_rounded(std::string_view type) {
  return is_one_of(type, std::to_array<std::string_view>(
                             {"Round", "Floor", "Ceil", "Trunc", "QuantizeLinear", "Quantize",
                              "DynamicQuantizeLinear", "AscendQuant", "AscendQuantV2",
                              "QLinearConv", "QLinearMatMul", "QLinearAdd", "FakeQuant"}));
}

bool is_quant(const Operator& op) {
  return op.quantization ||
         is_one_of(op.type, std::to_array<std::string_view>({"AscendQuant", "AscendQuantV2",
                                                             "AscendWeightQuant", "Quant",
                                                             "QuantizeLinear", "Quantize"})) ||
         (ends_in(op.name, std::to_array<std::string_view>({"_quant_layer", "/AscendQuant",
                                                            "/AscendWeightQuant", ".quant",
                                                            ".weight_quant"})) &&
          !is_dequant(op));
}

bool is_dequant(const Operator& op) {
  return is_one_of(op.type,
                   std::to_array<std::string_view>({"AscendDequant", "AscendAntiQuant", "DeQuant",
                                                    "Dequant", "AntiQuant", "DequantizeLinear",
                                                    "Dequantize", "AscendDequantS16"})) ||
         ends_in(op.name, std::to_array<std::string_view>({"_dequant_layer", "_anti_quant_layer",
                                                           "/AscendDequant", "/AntiQuant",
                                                           ".dequant", ".anti_quant"}));
}

}  // namespace plumb::pair
