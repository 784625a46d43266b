// SPDX-License-Identifier: Apache-2.0
//
// Networks that are given by their errors alone: what is found without a look at tensors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/row.h"

namespace plumb::diagnose {

enum class Lost { kNot, kGolden, kTarget, kFiltered };  // why a tensor was not compared

struct Op {
  std::string name;
  std::vector<std::string> reads;
  double error;  // of its output
  std::string type = "Conv";
  Lost lost = Lost::kNot;
};

inline result::Row row_of(const Op& op, int64_t node, std::string_view dtype) {
  result::Row row;
  row.node = node;
  row.target.emplace();
  row.target->operator_name = op.name;
  row.target->type = op.type;
  row.target->slot = "output:0";
  row.target->dtype = dtype;
  row.golden = row.target;
  row.values = {metrics::Value::of(op.error)};
  row.verdict = op.error > 1e-3 ? result::Verdict::kFail : result::Verdict::kPass;
  if (op.lost == Lost::kNot) return row;
  row.verdict = result::Verdict::kNotCompared;
  row.values.clear();
  row.reasons = {op.lost == Lost::kFiltered ? "filtered"
                 : op.lost == Lost::kGolden ? "no_golden"
                                            : "no_target"};
  if (op.lost == Lost::kGolden) row.golden.reset();
  if (op.lost == Lost::kTarget) row.target.reset(), row.node = -1;
  return row;
}

inline result::Run run_of(const std::vector<Op>& operators, bool has_graph = true,
                          std::string_view dtype = "float32") {
  result::Run run;
  run.metrics = {metrics::metric_by_name("rel_euclid")};
  auto network = std::make_shared<result::Network>();
  const auto place = [&](const std::string& name) {
    for (size_t i = 0; i < operators.size(); ++i)
      if (operators[i].name == name) return static_cast<int64_t>(i);
    return int64_t{-1};
  };
  for (const Op& op : operators) {
    const int64_t node = std::ssize(network->nodes);
    run.rows.push_back(row_of(op, has_graph ? node : -1, dtype));
    for (size_t k = 0; k < op.reads.size(); ++k)
      network->edges.push_back({place(op.reads[k]), 0, node, static_cast<int64_t>(k)});
    network->nodes.push_back({op.name, op.type, {}, false});
  }
  if (has_graph) run.network = network;
  return run;
}

}  // namespace plumb::diagnose
