// SPDX-License-Identifier: Apache-2.0
#include "pair/operator_kinds.h"

#include <algorithm>
#include <array>

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
