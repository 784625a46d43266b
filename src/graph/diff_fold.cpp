// SPDX-License-Identifier: Apache-2.0
#include "graph/diff_fold.h"

#include <algorithm>
#include <cmath>

#include "graph/weight_diff.h"

namespace plumb::graph {
namespace {

constexpr double kRounding = 1e-6;  // of numbers that a converter computed anew, relative
constexpr int64_t kMostFoldedChannels = 1 << 20;

const ConstantTensor* constant_at(const OperatorContent& op, size_t slot) {
  return slot < op.operands.size() ? op.operands[slot].constant.get() : nullptr;
}

double number_of(const OperatorContent& op, std::string_view attribute, double otherwise) {
  const auto found = op.attributes.find(attribute);
  if (found == op.attributes.end()) return otherwise;
  const auto numbers = numbers_of(found->second);
  return numbers && numbers->size() == 1 ? (*numbers)[0] : otherwise;
}

std::string text_of(const OperatorContent& op, std::string_view attribute) {
  const auto found = op.attributes.find(attribute);
  const auto* text =
      found == op.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_activation(std::string_view type) {
  return is_one_of(type, {"Relu", "ReLU", "LeakyRelu", "Sigmoid", "Tanh", "TanH", "HardSigmoid",
                          "Clip", "Elu", "Softplus", "HardSwish"});
}

class Folder {
 public:
  Folder(const ModelContent& model, Folded& out) : model_(model), out_(out) {}

  bool fold(std::span<const int> chain, std::vector<size_t>& used) {
    size_t first = 0;
    while (first < chain.size() && !start(chain[first])) ++first;
    if (first == chain.size()) return false;
    used = {first};
    int last = chain[first];
    for (size_t i = first + 1; i < chain.size(); ++i) {
      if (!follows(chain[i], last) || !add(chain[i])) continue;
      used.push_back(i);
      last = chain[i];
    }
    if (out_.bias.empty()) {
      out_.bias.assign(channels_, 0);
      out_.sizes.assign(channels_, 0);
    }
    const bool has_factors =
        std::any_of(factor_.begin(), factor_.end(), [](double f) { return f != 1; });
    if (has_factors) out_.weight = out_.weight.scaled(factor_, {}, axis_);
    return true;
  }

 private:
  const std::string& type(int op) const {
    return model_.graph.operators[static_cast<size_t>(op)].type;
  }
  const OperatorContent& content(int op) const { return model_.operators[static_cast<size_t>(op)]; }

  // It reads what the last one gives, directly or through a reshape, and nobody else does.
  bool follows(int op, int last) const {
    std::string_view tensor = model_.graph.operators[static_cast<size_t>(last)].name;
    for (int steps = 0; steps < 4; ++steps) {
      const Operator* reader = nullptr;
      size_t readers = 0;
      for (const Operator& each : model_.graph.operators)
        for (const Edge& edge : each.inputs)
          if (edge.producer == tensor) {
            reader = &each;
            ++readers;
          }
      for (const Edge& edge : model_.graph.outputs) readers += edge.producer == tensor;
      if (readers != 1 || reader == nullptr) return false;
      if (reader == &model_.graph.operators[static_cast<size_t>(op)]) return true;
      if (!is_one_of(reader->type, {"Reshape", "Identity", "Flatten", "Squeeze", "Unsqueeze"}))
        return false;
      tensor = reader->name;
    }
    return false;
  }

  bool start(int op) {
    const std::string& name = type(op);
    const OperatorContent& host = content(op);
    const bool is_conv =
        is_one_of(name, {"Conv", "FusedConv", "Convolution", "DepthwiseConvolution"});
    const bool is_product = is_one_of(name, {"Gemm", "FusedGemm", "MatMul", "InnerProduct"});
    const ConstantTensor* weight = constant_at(host, 1);
    if ((!is_conv && !is_product) || weight == nullptr || weight->shape().size() < 2) return false;
    if (host.operands.size() > 3 && !host.operands[3].name.empty()) return false;  // a sum, too
    if (number_of(host, "transA", 0) != 0 || number_of(host, "beta", 1) != 1) return false;
    out_.host = op;
    out_.weight = *weight;
    out_.weight_name = host.operands[1].name;
    spatial_ = is_conv ? weight->shape().size() - 2 : 0;
    const bool is_turned = number_of(host, "transB", 0) != 0 || name == "InnerProduct";
    if (is_turned && weight->shape().size() == 2) {
      constexpr int64_t kTurned[] = {1, 0};
      out_.weight = weight->permuted(kTurned);
    }
    axis_ = is_conv ? 0 : static_cast<int64_t>(weight->shape().size()) - 1;
    const int64_t channels = out_.weight.shape()[static_cast<size_t>(axis_)];
    if (channels < 1 || channels > kMostFoldedChannels) return false;
    channels_ = static_cast<size_t>(channels);
    factor_.assign(channels_, number_of(host, "alpha", 1));
    if (host.operands.size() > 2 && !host.operands[2].name.empty()) {
      const ConstantTensor* bias = constant_at(host, 2);
      if (bias == nullptr || !spread(*bias, is_conv ? spatial_unset : 0, out_.bias)) return false;
      out_.bias_name = host.operands[2].name;
      for (const double number : out_.bias) out_.sizes.push_back(std::fabs(number));
    }
    const std::string activation = text_of(host, "activation");
    if (!activation.empty()) {
      Folded::Activation& added = out_.activations.emplace_back();
      added.type = activation;
      const auto given = host.attributes.find("activation_params");
      if (given != host.attributes.end())
        added.numbers = numbers_of(given->second).value_or(std::vector<double>());
    }
    return true;
  }

  // Numbers for each channel: one for all, or as many as there are, along the right axis.
  static constexpr size_t spatial_unset = static_cast<size_t>(-1);
  bool spread(const ConstantTensor& constant, size_t spatial, std::vector<double>& out) const {
    if (constant.elements() > kMostFoldedChannels) return false;
    out = constant.all();
    if (out.size() == 1) {
      out.assign(channels_, out[0]);
      return true;
    }
    const size_t rank = constant.shape().size();
    if (out.size() != channels_) return false;
    if (spatial == spatial_unset) return true;  // a list, whatever its shape
    return rank > spatial && static_cast<size_t>(constant.shape()[rank - 1 - spatial]) == channels_;
  }

  bool add(int op) {
    if (!out_.activations.empty()) return false;  // nothing is folded through one
    const std::string& name = type(op);
    const OperatorContent& next = content(op);
    if (is_activation(name)) {
      out_.activations.push_back({name == "ReLU" ? "Relu" : name, activation_numbers(name, next)});
      return true;
    }
    if (name == "BatchNormalization") return batch_norm(next);
    if (name == "BatchNorm") return caffe_batch_norm(next);
    if (name == "Scale") {
      const ConstantTensor *scale = constant_at(next, 1), *shift = constant_at(next, 2);
      return scale != nullptr && apply(scale, shift);
    }
    return arithmetic(name, next);
  }

  static std::vector<double> activation_numbers(std::string_view name, const OperatorContent& op) {
    if (name == "LeakyRelu" || name == "Elu") return {number_of(op, "alpha", 1)};
    if (name == "HardSigmoid") return {number_of(op, "alpha", 1), number_of(op, "beta", 0)};
    if (name == "Clip") return {number_of(op, "min", 0), number_of(op, "max", 0)};
    if (name == "ReLU" && number_of(op, "negative_slope", 0) != 0)
      return {number_of(op, "negative_slope", 0)};
    return {};
  }

  bool batch_norm(const OperatorContent& norm) {
    std::vector<double> numbers[4];  // scale, shift, mean, variance
    for (size_t i = 0; i < 4; ++i) {
      const ConstantTensor* constant = constant_at(norm, i + 1);
      if (constant == nullptr || !spread(*constant, spatial_unset, numbers[i])) return false;
    }
    const double epsilon = number_of(norm, "epsilon", 1e-5);
    for (size_t i = 0; i < channels_; ++i)
      map(i, numbers[0][i] / std::sqrt(numbers[3][i] + epsilon), numbers[2][i], numbers[1][i]);
    return true;
  }

  bool caffe_batch_norm(const OperatorContent& norm) {
    std::vector<double> mean, variance;
    const ConstantTensor *first = constant_at(norm, 1), *second = constant_at(norm, 2),
                         *third = constant_at(norm, 3);
    if (first == nullptr || second == nullptr || !spread(*first, spatial_unset, mean) ||
        !spread(*second, spatial_unset, variance))
      return false;
    double count = 1;
    if (third != nullptr && third->elements() == 1) count = third->all()[0];
    const double scale = count == 0 ? 0 : 1 / count, epsilon = number_of(norm, "eps", 1e-5);
    for (size_t i = 0; i < channels_; ++i)
      map(i, 1 / std::sqrt(variance[i] * scale + epsilon), mean[i] * scale, 0);
    return true;
  }

  bool arithmetic(std::string_view name, const OperatorContent& op) {
    if (op.operands.size() != 2) return false;
    const ConstantTensor *first = constant_at(op, 0), *second = constant_at(op, 1);
    if ((first == nullptr) == (second == nullptr)) return false;
    std::vector<double> numbers;
    if (!spread(first != nullptr ? *first : *second, spatial_, numbers)) return false;
    const bool is_first = first != nullptr;
    for (size_t i = 0; i < channels_; ++i) {
      if (name == "Mul")
        map(i, numbers[i], 0, 0);
      else if (name == "Add")
        map(i, 1, 0, numbers[i]);
      else if (name == "Sub")
        map(i, is_first ? -1 : 1, 0, is_first ? numbers[i] : -numbers[i]);
      else if (name == "Div" && !is_first && numbers[i] != 0)
        map(i, 1 / numbers[i], 0, 0);
      else
        return false;
    }
    return true;
  }

  bool apply(const ConstantTensor* scale, const ConstantTensor* shift) {
    std::vector<double> factors, offsets(channels_, 0);
    if (!spread(*scale, spatial_unset, factors)) return false;
    if (shift != nullptr && !spread(*shift, spatial_unset, offsets)) return false;
    for (size_t i = 0; i < channels_; ++i) map(i, factors[i], 0, offsets[i]);
    return true;
  }

  // (what comes out - mean) * factor + offset.
  void map(size_t channel, double factor, double mean, double offset) {
    if (out_.bias.empty()) {
      out_.bias.assign(channels_, 0);
      out_.sizes.assign(channels_, 0);
    }
    factor_[channel] *= factor;
    double& bias = out_.bias[channel];
    bias = (bias - mean) * factor + offset;
    double& size = out_.sizes[channel];
    size = (size + std::fabs(mean)) * std::fabs(factor) + std::fabs(offset);
  }

  const ModelContent& model_;
  Folded& out_;
  size_t channels_ = 0, spatial_ = 0;
  int64_t axis_ = 0;
  std::vector<double> factor_;
};

// What is known of operators that stand for several.
struct Recipe {
  std::string_view type;
  std::vector<std::string_view> types;
  std::vector<double> numbers;
};
const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kRecipes = {
      {"LayerNormalization",
       {"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"},
       {2}},
      {"SimplifiedLayerNormalization", {"Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"}, {2}},
      {"SkipLayerNormalization",
       {"Add", "ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"},
       {2}},
      {"Gelu", {"Div", "Erf", "Add", "Mul", "Mul"}, {std::sqrt(2.0), 1, 0.5}},
      {"BiasGelu", {"Add", "Div", "Erf", "Add", "Mul", "Mul"}, {std::sqrt(2.0), 1, 0.5}},
      {"QuickGelu", {"Sigmoid", "Mul"}, {}},
      {"HardSwish", {"HardSigmoid", "Mul"}, {1.0 / 6, 0.5}},
      {"FusedMatMul", {"MatMul"}, {}},
      {"Gemm", {"MatMul"}, {}},
      {"FusedConv", {"Conv"}, {}},
  };
  return kRecipes;
}

// Attributes that are numbers of the computation.
constexpr std::string_view kNumbers[] = {"epsilon", "alpha", "beta", "min", "max"};

class PartsMaker {
 public:
  PartsMaker(const ModelContent& model, Parts& out) : model_(model), out_(out) {}

  void add(int place) {
    const std::string& type = model_.graph.operators[static_cast<size_t>(place)].type;
    const OperatorContent& op = model_.operators[static_cast<size_t>(place)];
    if (is_one_of(type,
                  {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Cast", "Dropout"}) ||
        is_neutral(model_, place))
      return;
    const auto recipe = std::find_if(recipes().begin(), recipes().end(),
                                     [&](const Recipe& each) { return each.type == type; });
    if (recipe == recipes().end()) {
      out_.types.push_back(type);
    } else {
      out_.types.insert(out_.types.end(), recipe->types.begin(), recipe->types.end());
      out_.numbers.insert(out_.numbers.end(), recipe->numbers.begin(), recipe->numbers.end());
    }
    add_numbers(type, op);
    add_constants(type, op);
  }

 private:
  void add_numbers(std::string_view type, const OperatorContent& op) {
    if (type == "FusedMatMul" || type == "Gemm" || type == "QuickGelu") {
      // A factor is an operator of its own.
      if (const double alpha = number_of(op, "alpha", 1); alpha != 1) add_factor(alpha);
      if (type == "Gemm" && op.operands.size() > 2 && !op.operands[2].name.empty())
        out_.types.emplace_back("Add");
      if (number_of(op, "beta", 1) != 1 && type == "Gemm") out_.is_complete = false;
      for (const char* turned : {"transA", "transB"})
        if (number_of(op, turned, 0) != 0) out_.types.emplace_back("Transpose");
      return;
    }
    if (type == "FusedConv") {
      out_.types.push_back(text_of(op, "activation"));
      if (const auto given = op.attributes.find("activation_params"); given != op.attributes.end())
        for (const double number : numbers_of(given->second).value_or(std::vector<double>()))
          out_.numbers.push_back(number);
      if (op.operands.size() > 3) out_.types.emplace_back("Add");
      return;
    }
    for (const std::string_view name : kNumbers)
      if (const auto found = op.attributes.find(name); found != op.attributes.end())
        for (const double number : numbers_of(found->second).value_or(std::vector<double>()))
          out_.numbers.push_back(number);
  }

  void add_factor(double factor) {
    out_.types.emplace_back("Mul");
    out_.numbers.push_back(factor);
  }

  void add_constants(std::string_view type, const OperatorContent& op) {
    for (const Operand& operand : op.operands) {
      if (operand.is_attribute || operand.name.empty()) continue;
      if (operand.is_stored) out_.is_complete = false;
      if (!operand.constant) continue;
      if (operand.constant->elements() != 1) {
        out_.tensors.push_back(operand.constant);
        continue;
      }
      const double number = operand.constant->all()[0];
      // A division by a number is written as a product, too; that of Gelu is part of a recipe.
      const bool divides = type == "Div" && &operand == &op.operands.back() && number != 0;
      if (divides && std::fabs(number - std::sqrt(2.0)) > kRounding) {
        out_.types.back() = "Mul";
        out_.numbers.push_back(1 / number);
      } else {
        out_.numbers.push_back(number);
      }
    }
  }

  const ModelContent& model_;
  Parts& out_;
};

bool is_near(double a, double b) {
  return a == b || std::fabs(a - b) <= kRounding * std::max(std::fabs(a), std::fabs(b));
}

}  // namespace

std::optional<Folded> fold(const ModelContent& model, std::span<const int> chain,
                           std::vector<size_t>& used) {
  Folded folded;
  if (!Folder(model, folded).fold(chain, used)) return std::nullopt;
  return folded;
}

bool is_neutral(const ModelContent& model, int op) {
  const std::string& type = model.graph.operators[static_cast<size_t>(op)].type;
  const OperatorContent& content = model.operators[static_cast<size_t>(op)];
  const bool is_factor = type == "Mul" || type == "Div" || type == "Pow";
  if ((!is_factor && type != "Add" && type != "Sub") || content.operands.size() != 2) return false;
  const ConstantTensor *first = constant_at(content, 0), *second = constant_at(content, 1);
  const ConstantTensor* constant = second;
  if (second == nullptr && (type == "Mul" || type == "Add")) constant = first;
  if (constant == nullptr || constant->elements() == 0 ||
      constant->elements() > kMostFoldedChannels)
    return false;
  const auto numbers = constant->all();
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](double number) { return number == (is_factor ? 1 : 0); });
}

Parts parts_of(const ModelContent& model, std::span<const int> operators) {
  Parts parts;
  PartsMaker maker(model, parts);
  for (const int op : operators) maker.add(op);
  std::sort(parts.types.begin(), parts.types.end());
  std::sort(parts.numbers.begin(), parts.numbers.end());
  return parts;
}

bool are_same(const Parts& target, const Parts& golden) {
  if (!target.is_complete || !golden.is_complete || target.types != golden.types ||
      target.numbers.size() != golden.numbers.size() ||
      target.tensors.size() != golden.tensors.size() ||
      !std::equal(target.numbers.begin(), target.numbers.end(), golden.numbers.begin(), is_near))
    return false;
  auto left = golden.tensors;
  for (const auto& own : target.tensors) {
    const auto found = std::find_if(left.begin(), left.end(), [&](const auto& theirs) {
      return own->elements() == theirs->elements() &&
             !compare_weights(*own, *theirs, {.tolerance = 0, .slack = kRounding});
    });
    if (found == left.end()) return false;
    left.erase(found);
  }
  return true;
}

}  // namespace plumb::graph
