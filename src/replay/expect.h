// SPDX-License-Identifier: Apache-2.0
//
// ONNX test cases, each a model with inputs and the outputs expected of it (model.onnx beside
// test_data_set_0/input_0.pb, output_0.pb, ...): whether an engine gives what is expected.
#pragma once

#include "engine/engine.h"
#include "plumb/run_context.h"

namespace plumb::replay {

struct TestCase {
  std::string name;
  std::filesystem::path model;
  std::vector<std::filesystem::path> data;  // test_data_set_N
};
// A case, or all at any depth of a directory, in the same order everywhere. An error if there are
// none.
Result<std::vector<TestCase>> find_test_cases(const std::filesystem::path& path);

struct ExpectOptions {
  std::string engine = "onnxruntime";
  engine::Optimization optimization = engine::Optimization::kDisabled;
  std::string profile = "conformance";
  WorkerLimits limits;  // of the engine
};

enum class CaseOutcome : uint8_t { kPass, kFail, kUnsupported };
struct CaseResult {
  CaseOutcome outcome = CaseOutcome::kPass;
  std::string what;  // if it does not pass
};

// One result for each case; fewer if the run was cancelled. Progress counts cases. One that makes
// the engine crash costs itself.
Result<std::vector<CaseResult>> run_test_cases(const std::vector<TestCase>& cases,
                                               const ExpectOptions& options, RunContext& context);

}  // namespace plumb::replay
