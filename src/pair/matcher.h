// SPDX-License-Identifier: Apache-2.0
//
// Which tensor of the golden model a tensor of the target model stands for, told by what the
// converter recorded: original names, the origin of each output, edges. Never by likeness of names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "pair/names.h"
#include "pair/operator_kinds.h"

namespace plumb::pair {

struct Tensor {
  std::string op;
  int64_t output = 0;
};

struct Match {
  std::optional<Tensor> golden;  // nullopt: there is none, for `reason`
  std::string_view rule;         // "origin", "own-name", "renamed", "structure"
  std::string evidence;          // a clause: "output 0 originates from relu1:0"
  std::string_view reason;       // "no_counterpart", "inside_fusion", "ambiguous_pair"
  std::string message;           // ... in words
  bool is_source = false;        // a constant or a model input, which tools seldom dump
  bool is_reshaped = false;      // handed on in another shape: the same elements in the same order
  // Integers of the target that stand for numbers of golden. Inside the quantized part of a model
  // where the scale is not recorded, they cannot be compared.
  bool is_quantized = false;
  std::optional<graph::Quantization> quantization;
  // Where the golden model was not quantized, so that it has no such operator: the tensor that was
  // quantized, or the layer whose output was dequantized.
  std::optional<Tensor> before_quantization;
  std::string dequantized_layer;
};

// The graphs must outlive the matcher and stay as they are.
class Matcher {
 public:
  // `golden`: the graph of the golden side if that was converted, too (fusion off); its operators
  // are then the partners. `quant`: what the quantization tool made of the original model; names
  // of quantized operators are led back to the original ones by it.
  explicit Matcher(const graph::Graph& target, const graph::Graph* golden = nullptr,
                   const graph::Graph* quant = nullptr);

  // The operator a dump calls by this name; nullptr if the graph has none, or several.
  const graph::Operator* find(std::string_view dump_name) const;

  Match output(const graph::Operator& op, int64_t index) const;
  Match input(const graph::Operator& op, int64_t index) const;

  // The target operator that a golden operator, as a dump calls it, went into; nullptr if none did.
  const graph::Operator* made_of(std::string_view dump_name) const;
  // The target operator that gives out this golden tensor, or hands it on; nullptr if none does.
  const graph::Operator* giver_of(std::string_view dump_name, int64_t output) const;
  // Of the golden graph, if there is one: the operator a dump calls by this name.
  const graph::Operator* find_golden(std::string_view dump_name) const;
  // ... and the operators of it that read a tensor, with the input they read it by.
  std::vector<Tensor> golden_readers(const Tensor& tensor) const;

  const graph::Graph& target() const { return *target_; }

 private:
  // `asks_before`: also what was quantized, one step back and no further: a damaged graph may lead
  // in a circle.
  const graph::Operator* maker_of(const graph::Operator& first, int64_t& index, Match& match) const;
  void find_golden_maker(const graph::Operator& op, Tensor origin, Match& match) const;
  Match through(const graph::Operator& op, int64_t index, bool asks_before = true) const;
  std::optional<Tensor> origin_of(const graph::Operator& op, int64_t index, Match& match) const;
  void lead_back(Tensor& tensor, Match& match) const;
  void find_domains();

  const graph::Graph* target_;
  const graph::Graph* golden_;
  std::unordered_map<std::string_view, const graph::Operator*> by_name_;
  Names names_, origin_names_, golden_names_;
  // Constants that are a part of what an operator was made from.
  std::unordered_set<const graph::Operator*> arguments_;
  std::unordered_map<std::string_view, int> members_;  // target operators, by only origin
  std::unordered_map<std::string_view, const graph::Operator*> made_of_;
  // Target operator, by golden tensor "name:output" with the name as dump tools write it.
  std::unordered_map<std::string, const graph::Operator*> givers_;
  // Golden operator and output, by original tensor "name:output".
  std::unordered_map<std::string, std::vector<Tensor>> golden_outputs_;
  std::unordered_map<std::string_view, const graph::Operator*> golden_by_name_, quant_;
  std::unordered_map<std::string, std::vector<Tensor>> golden_readers_;  // by "name:output"
  // Operators whose outputs are integers of the quantized part, with their scale if it is known.
  std::unordered_map<const graph::Operator*, std::optional<graph::Quantization>> quantized_;
};

// Has a quantizing operator, or one whose outputs are led back by a scale.
bool is_quantized(const graph::Graph& graph);
// True if the converter recorded where any operator came from.
bool is_converted(const graph::Graph& graph);
// Lines that say what an operator is and what it was made from.
std::vector<std::string> describe(const graph::Operator& op);
// How many operators were made from several.
int64_t count_fused(const graph::Graph& graph);

}  // namespace plumb::pair
