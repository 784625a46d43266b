// SPDX-License-Identifier: Apache-2.0
//
// What a weight of an ONNX model holds, told by its type, its shape and the ends of its data: equal
// weights of two models are found without reading gigabytes.
#pragma once

#include "base/bytes.h"
#include "graph/graph.h"

namespace plumb::graph {

// `tensor` is a TensorProto of a model that was read before. Data in another file are told by where
// they are.
Constant constant_of(Bytes tensor);

}  // namespace plumb::graph
