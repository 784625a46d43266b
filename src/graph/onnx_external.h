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

// The files that those data are in, each once; the same errors.
Result<std::vector<std::filesystem::path>> external_files(Bytes model, const DataPlace& place);

// Data in other files move into the model. A path that leads elsewhere, a size that does not fit
// and a model of more than 2 GiB are errors.
Result<void> inline_external(OnnxModel& model, const DataPlace& place);

// The data of tensors in other files, which are mapped when they are first asked for and stay so as
// long as this lives.
class ExternalData {
 public:
  explicit ExternalData(const DataPlace& place);
  ~ExternalData();
  // Of a TensorProto that says where its data are; as many bytes as type and shape need.
  Result<Bytes> data_of(Bytes tensor);

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

}  // namespace plumb::graph
