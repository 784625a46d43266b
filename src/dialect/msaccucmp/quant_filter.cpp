// SPDX-License-Identifier: Apache-2.0
//
// Between the operator that quantizes and the one that dequantizes, tensors are integers that no
// tensor of the original model corresponds to. Names say which operators these are, element types
// confirm it.
#include <algorithm>
#include <map>
#include <numeric>

#include "dialect/msaccucmp/rule_file.h"

namespace plumb::msaccucmp {
namespace {

constexpr std::string_view kQuantNames[] = {"_quant_layer", "/AscendQuant", "/AscendWeightQuant",
                                            ".quant", ".weight_quant"};
constexpr std::string_view kDequantNames[] = {"_dequant_layer", "_anti_quant_layer",
                                              "/AscendDequant", "/AntiQuant",
                                              ".dequant",       ".anti_quant"};

struct NameClass {
  bool quant = false, dequant = false;
  bool is_normal() const { return !quant && !dequant; }
};

NameClass classify(std::string_view name) {
  const auto contains = [&](std::string_view mark) { return name.find(mark) != name.npos; };
  return {std::any_of(std::begin(kQuantNames), std::end(kQuantNames), contains),
          std::any_of(std::begin(kDequantNames), std::end(kDequantNames), contains)};
}

enum class OutputClass : uint8_t { kNormal, kMiddle, kQuant, kDequant };

OutputClass classify(const NameClass& name, std::optional<DType> dtype, bool in_pair) {
  if (name.quant && dtype == DType::kInt8) return OutputClass::kQuant;
  if (name.dequant && dtype == DType::kFloat16) return OutputClass::kDequant;
  return in_pair ? OutputClass::kMiddle : OutputClass::kNormal;
}

}  // namespace

void filter_quantized(std::vector<RuleOperator>& operators) {
  std::vector<size_t> order(operators.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return operators[a].id < operators[b].id; });
  std::map<std::pair<std::string_view, int64_t>, OutputClass> outputs;  // of operators so far
  for (size_t at : order) {
    RuleOperator& op = operators[at];
    NameClass name = classify(op.name);
    if (name.is_normal()) {
      std::string originals;
      for (const std::string& origin : op.origins) originals += origin;
      name = classify(originals);
    }
    const bool in_pair =
        std::any_of(op.inputs.begin(), op.inputs.end(), [&](const graph::Edge& edge) {
          const auto found = outputs.find({edge.producer, edge.output});
          return found != outputs.end() &&
                 (found->second == OutputClass::kQuant || found->second == OutputClass::kMiddle);
        });
    bool all_dequantized = true;
    for (size_t i = 0; i < op.output_types.size(); ++i) {
      const OutputClass output = classify(name, op.output_types[i], in_pair);
      all_dequantized &= output == OutputClass::kDequant;
      outputs[{op.name, static_cast<int64_t>(i)}] = output;
    }
    op.is_filtered = in_pair && !all_dequantized;
  }
}

}  // namespace plumb::msaccucmp
