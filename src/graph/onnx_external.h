// SPDX-License-Identifier: Apache-2.0
//
// ONNX models whose weights are in other files.
#pragma once

#include <filesystem>

#include "graph/onnx_model.h"

namespace plumb::graph {

// Data in other files below `directory` move into the model. A path that leads elsewhere, a size
// that does not fit and a model of more than 2 GiB are errors.
Result<void> inline_external(OnnxModel& model, const std::filesystem::path& directory);

}  // namespace plumb::graph
