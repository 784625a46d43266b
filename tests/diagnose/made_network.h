// SPDX-License-Identifier: Apache-2.0
//
// Networks of tensors in memory, compared: what files that look at tensors are tested on.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plumb/session.h"

namespace plumb::diagnose {

constexpr size_t kMadeChannels = 8, kMadeElements = 512;

// The same numbers on every machine: sums of a linear generator, nearly normal.
inline std::vector<float> made_numbers(uint32_t seed, double scale = 1) {
  std::vector<float> values(kMadeElements);
  uint32_t state = seed * 2654435761U + 1;
  for (float& value : values) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 1664525U + 1013904223U;
      sum += static_cast<double>(state >> 8) / (1 << 24);
    }
    value = static_cast<float>((sum - 6) * scale);
  }
  return values;
}

struct MadeOperator {
  std::string name, type, reads;      // reads: another operator; empty for none
  std::vector<float> golden, target;  // golden is empty: only the target has it
  std::vector<std::string> origins;   // empty: itself
  bool is_lost = false;               // golden has it, but did not dump it
};

struct Compared {
  Session session;
  result::Run run;
};

struct MadeNetwork {
  std::vector<MadeOperator> operators;

  void add(std::string name, std::string type, std::string reads, std::vector<float> values) {
    operators.push_back({std::move(name), std::move(type), std::move(reads), values, values, {}});
  }

  // Borrows the tensors.
  Compared compared() const {
    Spec spec;
    auto graph = std::make_shared<graph::Graph>();
    const auto add_tensor = [](SideSpec& side, const std::string& op,
                               const std::vector<float>& values) {
      NamedTensor tensor;
      tensor.op = op;
      tensor.shape = {1, kMadeChannels, 8, 8};
      tensor.bytes = std::as_bytes(std::span(values));
      side.tensors.push_back(tensor);
    };
    for (const MadeOperator& op : operators) {
      if (!op.golden.empty() && !op.is_lost) add_tensor(spec.golden, op.name, op.golden);
      add_tensor(spec.target, op.name, op.target);
      graph::Operator& made = graph->operators.emplace_back();
      made.name = op.name;
      made.type = op.type;
      if (!op.reads.empty()) made.inputs = {{op.reads, 0}};
      made.outputs.resize(1);
      if (op.golden.empty()) continue;
      made.outputs[0].origin = op.name;
      made.outputs[0].origin_output = 0;
      made.origins = op.origins.empty() ? std::vector{op.name} : op.origins;
    }
    graph->outputs = {{operators.back().name, 0}};
    spec.target.model = graph;
    spec.mode = "offline-vs-original";
    spec.profile = "standard";
    RunContext context;
    auto session = Session::open(spec, context);
    if (!session) throw std::runtime_error(session.error().what + ": " + session.error().where);
    auto run = compare_all(*session, context);
    if (!run) throw std::runtime_error(run.error().what);
    return {std::move(*session), std::move(*run)};
  }
};

}  // namespace plumb::diagnose
