// SPDX-License-Identifier: Apache-2.0
//
// ONNX models whose weights are in other files.
#pragma once

#include "graph/data_place.h"
#include "graph/onnx_model.h"

namespace plumb::graph {

// The directory in which the data of the model are; an error if some would be read elsewhere, or
// are not there. A model without such data has any. Nothing is opened.
Result<std::filesystem::path> check_external(Bytes model, const DataPlace& place);

// Data in other files move into the model. A path that leads elsewhere, a size that does not fit
// and a model of more than 2 GiB are errors.
Result<void> inline_external(OnnxModel& model, const DataPlace& place);

}  // namespace plumb::graph
