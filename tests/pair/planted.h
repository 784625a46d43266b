// SPDX-License-Identifier: Apache-2.0
//
// Networks of which it is known what a converter made of them: an original, the converted graph,
// and for every tensor of the converted one the original tensor it stands for.
#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/graph.h"

namespace plumb::match {

struct Planted {
  graph::Graph original, converted;
  std::map<std::string, std::string> truth;  // "converted operator:output" -> "original:output"
};

// At least `least` operators in the original: convolutions with normalisation and activation,
// paddings, residual additions, branches split and joined, pooling, a classifier. The converter
// fuses, renames, and inserts TransData and Cast. `records`: it records origins, as atc does.
class Planter {
 public:
  Planter(unsigned seed, size_t least, bool records) : random_(seed), records_(records) {
    at_ = add("Data", "data", {}, {1, 3, 32, 32});
    while (planted_.original.operators.size() < least) block();
    at_ = add("GlobalAveragePool", "", {at_}, {1, channels_, 1, 1});
    at_ = add("Gemm", "", {at_}, {1, 10});
    at_ = add("Softmax", "", {at_}, {1, 10});
    planted_.original.outputs.push_back({at_, 0});
    convert();
  }
  Planted take() { return std::move(planted_); }

 private:
  using Words = std::vector<std::string>;

  int roll(int sides) { return static_cast<int>(random_() % static_cast<unsigned>(sides)); }

  // "conv1:0", or "conv1" for output 0.
  static graph::Edge edge_from(const std::string& tensor) {
    const size_t colon = tensor.rfind(':');
    if (colon == std::string::npos) return {tensor, 0};
    return {tensor.substr(0, colon), std::stoll(tensor.substr(colon + 1))};
  }

  // An operator of the original; unnamed ones are numbered, so that conv1 and conv10 both appear.
  std::string add(std::string type, std::string name, const Words& inputs, const Shape& shape,
                  int64_t outputs = 1) {
    if (name.empty()) {
      std::string word = type;
      for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      name = fmt::format("{}{}", word, ++numbers_[type]);
    }
    graph::Operator op;
    op.name = name;
    op.type = std::move(type);
    for (const std::string& input : inputs) op.inputs.push_back(edge_from(input));
    for (int64_t k = 0; k < outputs; ++k) op.outputs.emplace_back().shape = shape;
    planted_.original.operators.push_back(std::move(op));
    return name;
  }

  std::string conv(const std::string& from, int64_t channels) {
    const Shape shape{1, channels, 16, 16};
    std::string at = roll(4) == 0 ? add("Pad", "", {from}, shape) : from;
    at = add("Conv", "", {at}, shape);
    if (roll(3) != 0) at = add("BatchNormalization", "", {at}, shape);
    if (roll(3) != 0) at = add("Relu", "", {at}, shape);
    return at;
  }

  void block() {
    channels_ = 8 * (1 + roll(6));
    const Shape shape{1, channels_, 16, 16};
    switch (roll(4)) {
      case 0: at_ = conv(at_, channels_); break;
      case 1: {  // residual
        at_ = conv(at_, channels_);
        const std::string inner = conv(conv(at_, channels_), channels_);
        at_ = add("Relu", "", {add("Add", "", {inner, at_}, shape)}, shape);
        break;
      }
      case 2: {  // branches of different width, joined
        const int64_t wide = channels_ + 8;
        const std::string first = conv(at_, channels_), second = conv(conv(at_, wide), wide);
        const std::string third = add("MaxPool", "", {at_}, shape);
        channels_ = 2 * channels_ + wide;
        at_ = add("Concat", "", {first, second, third}, {1, channels_, 16, 16});
        break;
      }
      default: {  // split, worked on apart, joined
        const std::string split = add("Split", "", {at_}, shape, 2);
        const std::string first = conv(split + ":0", channels_);
        const std::string second = add("Sigmoid", "", {split + ":1"}, shape);
        channels_ *= 2;
        at_ = add("Concat", "", {first, second}, {1, channels_, 16, 16});
      }
    }
  }

  // What a converter does: Pad, Conv, BatchNormalization and Relu become one; so do Add and Relu.
  void convert() {
    const auto& originals = planted_.original.operators;
    const size_t count = originals.size();
    std::map<std::string, std::vector<size_t>> readers;
    for (size_t i = 0; i < count; ++i)
      for (const graph::Edge& edge : originals[i].inputs) readers[edge.producer].push_back(i);
    std::vector<bool> taken(count);
    std::map<std::string, std::string> now;  // converted tensor, by original one
    for (size_t i = 0; i < count; ++i) {
      if (taken[i]) continue;
      std::vector<size_t> parts{i};
      const auto absorb = [&](std::string_view type) {
        const auto& next = readers[originals[parts.back()].name];
        if (next.size() == 1 && originals[next[0]].type == type) parts.push_back(next[0]);
      };
      if (originals[i].type == "Pad") absorb("Conv");
      if (originals[parts.back()].type == "Conv" && roll(4) != 0) {
        absorb("BatchNormalization");
        absorb("Relu");
      } else if (originals[i].type == "Add" && roll(2) == 0) {
        absorb("Relu");
      }
      for (size_t part : parts) taken[part] = true;
      emit(parts, now);
    }
    graph::Operator end;
    end.name = "Node_Output";
    end.type = "NetOutput";
    end.inputs = {edge_from(now.at(at_ + ":0"))};
    planted_.converted.outputs = end.inputs;
    planted_.converted.operators.push_back(std::move(end));
  }

  static std::string converted_type(const std::string& type) {
    static const std::map<std::string, std::string> types = {{"Conv", "Conv2D"},
                                                             {"Concat", "ConcatD"},
                                                             {"Split", "SplitD"},
                                                             {"MaxPool", "Pooling"},
                                                             {"GlobalAveragePool", "Pooling"},
                                                             {"Gemm", "MatMulV2"},
                                                             {"Softmax", "SoftmaxV2"},
                                                             {"BatchNormalization", "BNInference"},
                                                             {"Pad", "PadD"}};
    const auto found = types.find(type);
    return found == types.end() ? type : found->second;
  }

  void emit(const std::vector<size_t>& parts, std::map<std::string, std::string>& now) {
    const auto& originals = planted_.original.operators;
    const graph::Operator& first = originals[parts.front()];
    const graph::Operator& last = originals[parts.back()];
    // The part that gives the type: the convolution behind a padding, else the first.
    const graph::Operator& main =
        first.type == "Pad" && parts.size() > 1 ? originals[parts[1]] : first;
    Words inside;
    for (size_t part : parts) inside.push_back(originals[part].name);
    graph::Operator op;
    op.type = converted_type(main.type);
    op.name = main.name;
    if (parts.size() > 1 && roll(2) == 0) {
      op.name.clear();
      for (const std::string& part : inside) op.name += part;
    } else if (first.type != "Data" && roll(6) == 0) {
      op.name = fmt::format("renamed_{}", planted_.converted.operators.size());
    }
    for (size_t part : parts) {
      for (const graph::Edge& edge : originals[part].inputs) {
        if (std::find(inside.begin(), inside.end(), edge.producer) != inside.end()) continue;
        const std::string original = fmt::format("{}:{}", edge.producer, edge.output);
        std::string from = now.at(original);
        if (roll(5) == 0) from = insert(from, original);
        op.inputs.push_back(edge_from(from));
      }
    }
    if (records_ && (first.type != "Data" || roll(2) == 0)) op.origins = inside;
    for (size_t k = 0; k < last.outputs.size(); ++k) {
      graph::Output& output = op.outputs.emplace_back();
      output.shape = last.outputs[k].shape;
      if (records_) {
        output.origin = last.name;
        output.origin_output = static_cast<int64_t>(k);
      }
      const std::string original = fmt::format("{}:{}", last.name, k);
      now[original] = fmt::format("{}:{}", op.name, k);
      planted_.truth[now[original]] = original;
    }
    planted_.converted.operators.push_back(std::move(op));
  }

  // TransData or Cast between two operators: the same values stored otherwise.
  std::string insert(const std::string& from, const std::string& original) {
    graph::Operator op;
    op.type = roll(2) == 0 ? "TransData" : "Cast";
    op.name = fmt::format("trans_{}_{}", op.type, planted_.converted.operators.size());
    op.inputs.push_back(edge_from(from));
    op.outputs.emplace_back();
    if (records_) op.origins.emplace();
    std::string name = op.name + ":0";
    planted_.truth[name] = original;
    planted_.converted.operators.push_back(std::move(op));
    return name;
  }

  std::mt19937 random_;
  bool records_;
  std::map<std::string, int> numbers_;
  std::string at_;
  int64_t channels_ = 3;
  Planted planted_;
};

}  // namespace plumb::match
