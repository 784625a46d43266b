// SPDX-License-Identifier: Apache-2.0
//
// Rule files: which operators of the original model a device operator was made from. The groups
// that share originals, their numbers and the two ways to merge rule files follow msaccucmp; rows
// of its results are numbered by them.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dialect/msaccucmp/align.h"
#include "dialect/msaccucmp/code.h"
#include "graph/graph.h"

namespace plumb::msaccucmp {

// The original tensor that an output stands for.
struct OriginTensor {
  std::string name;              // operator of the original model; empty if there is none
  std::optional<int64_t> index;  // of its output
  Description description;
};

struct RuleOperator {
  std::string name, type;
  int64_t id = 0;  // OpSequence
  std::vector<graph::Edge> inputs;
  std::vector<std::string> origins;
  std::vector<OriginTensor> outputs;
  std::vector<std::optional<DType>> output_types;
  bool is_multi_op = false;
  std::string l1_group;
  bool is_filtered = false;  // inside a pair of quantization and dequantization
  bool can_be_found = true;  // as the producer of an input
  std::string group_key;

  bool is_inner_node() const;   // of a many-to-many fusion: its outputs are nobody's
  bool is_dequantizer() const;  // the inputs are integers, not compared
};

struct RuleGroup {
  int64_t index = 0;            // as rows show it
  std::vector<size_t> members;  // of RuleFile::operators
};

class RuleFile {
 public:
  explicit RuleFile(const graph::Graph& graph);
  static Outcome<RuleFile> load(const std::filesystem::path& path);

  const std::vector<RuleOperator>& operators() const { return operators_; }
  const std::vector<RuleGroup>& groups() const { return groups_; }
  std::vector<std::string> input_nodes() const;  // operators of type Data

  const RuleOperator* find(const std::string& name) const;
  const RuleGroup* group_of(const std::string& name) const;

  // The originals of an offline model are operators of a quantized one: goes on to those of the
  // model before quantization.
  void merge_quantization(const RuleFile& quant);
  // The originals become operators of the same model converted without fusion.
  void merge_unfused(const RuleFile& unfused);

 private:
  void make_groups(bool by_l1_group);
  void index_names();
  std::optional<int64_t> output_index(const std::string& member, const OriginTensor& output) const;
  void keep_only(const std::set<size_t>& kept);

  std::vector<RuleOperator> operators_;
  std::vector<RuleGroup> groups_;
  std::unordered_map<std::string, size_t> operator_by_name_, group_by_name_;
};

// Marks the operators that work on integers between a quantization and its dequantization.
void filter_quantized(std::vector<RuleOperator>& operators);

// "a,b" of the members' names, those of equal originals together; and of the lists of originals.
struct GroupNames {
  std::string target, golden;
};
GroupNames names_of(const RuleFile& rules, const RuleGroup& group);

// Which operators -r and -s ask for; those not chosen have no row.
struct Choice {
  std::string range, select;  // as given; at most one is not empty
  bool is_given() const { return !range.empty() || !select.empty(); }
};
Outcome<std::vector<int64_t>> chosen_ids(const RuleFile& rules, const Choice& choice,
                                         std::vector<std::string>& warnings);

}  // namespace plumb::msaccucmp
