// SPDX-License-Identifier: Apache-2.0
//
// What replaying an operator showed: its error, split into what was inherited and its own.
// replay/ fills it, report/replayed.h tells it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/metric.h"
#include "plumb/row.h"

namespace plumb::result {

// Two tensors compared and judged.
struct ReplayError {
  std::string title;   // "input", "total", "inherited", "own"
  std::string tensor;  // "conv1 output:0"
  Row row;             // verdict, message, and values parallel to Replayed::columns
};

struct ReplayPort {
  std::string name;   // of the tensor in the model
  std::string place;  // "conv1 output:0", as the golden dump calls it
  std::string dtype;
  Shape shape;
  std::string golden_file, target_file;  // in the reproduction
};

struct ReplayOperator {
  std::string name, type;
  bool is_chosen = true;  // else only fused with one that is
};

enum class Blame : uint8_t { kNobody, kOperator, kInputs, kBoth, kSum };

struct Replayed {
  std::vector<ReplayOperator> operators;
  std::vector<ReplayPort> inputs, outputs;
  std::vector<std::string> left_out;  // outputs that one of the sides did not dump
  std::vector<const metrics::Metric*> columns;
  std::vector<ReplayError> errors;
  std::vector<ReplayError> again;  // the model fed with golden's inputs, against golden
  bool is_exact = true;            // ... has the same bytes
  std::string engine;              // "ONNX Runtime 1.21.0"
  std::string model;               // file name
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::string profile, target, golden;  // of the comparison
  std::string target_convention, golden_convention, result_version;

  bool fails(std::string_view title) const;  // any that is not within limits
  Blame blame() const;
};

}  // namespace plumb::result
