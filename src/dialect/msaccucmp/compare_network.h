// SPDX-License-Identifier: Apache-2.0
//
// A whole network, operator by operator: a dump of the model on the device against golden data by
// way of rule files, or two device dumps by the names of their operators.
#pragma once

#include "dialect/msaccucmp/compare_pairs.h"
#include "dialect/msaccucmp/directory.h"
#include "dialect/msaccucmp/rule_file.h"
#include "plumb/run_context.h"

namespace plumb::msaccucmp {

struct NetworkOptions : PairOptions {
  bool overflow = false;  // fill the column OverFlow
  Choice choice;
};

// Two directories and the rules that connect them.
struct Network {
  DumpDirectory target, golden;
  std::optional<RuleFile> rules;  // nullopt: two device dumps, paired by name

  bool golden_is_device() const { return golden.kind == DumpKind::kOffline; }
};
Outcome<Network> open_network(const std::filesystem::path& target,
                              const std::filesystem::path& golden, const RulePaths& paths,
                              bool join_slices = true);

// The right tensor of one tensor of an operator.
struct Counterpart {
  const DumpFile* file = nullptr;
  Tensor tensor;
  Description description;
  std::string producer;  // tensor of the target that is the same: "conv1:output:0"
};
Outcome<Counterpart> find_counterpart(const Network& network, const RuleOperator& op, bool is_input,
                                      size_t index);
// Only its file, for the mapping table; null if there is none.
const DumpFile* counterpart_file(const Network& network, const RuleOperator& op, bool is_input,
                                 size_t index);

Outcome<ResultTable> compare_network(const Network& network, const NetworkOptions& options,
                                     RunContext& context);
Outcome<ResultTable> compare_by_name(const Network& network, const NetworkOptions& options,
                                     RunContext& context);
// Streams what was planned; the lines become the rows of the table.
std::optional<Fault> fill_table(std::vector<Line> lines, const PairOptions& options,
                                ResultTable& table, RunContext& context);

std::string tensor_id(std::string_view operator_name, bool is_input, size_t index);

}  // namespace plumb::msaccucmp
