// SPDX-License-Identifier: Apache-2.0
//
// `plumb run DIR --expect`: ONNX test cases, each a model with inputs and the outputs expected of
// it (model.onnx beside test_data_set_0/input_0.pb, output_0.pb, ...).
#pragma once

#include "cli/command.h"

namespace plumb::cli {

struct ExpectWishes {
  std::string path;  // a case, or a directory with cases at any depth
  std::string engine, optimization = "disabled", profile;
  bool all = false;  // passing cases are shown, too
};
int run_expect(const ExpectWishes& wishes, const CommonOptions& common, RunContext& context);

}  // namespace plumb::cli
