// SPDX-License-Identifier: Apache-2.0
//
// The messages of onnx/onnx.proto as far as we look into them: field numbers and element types.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/dtype.h"

namespace plumb::graph {

inline constexpr int kMaxOnnxDepth = 32;  // of bodies within bodies

namespace model_field {
enum : uint32_t {
  kIrVersion = 1,
  kProducer = 2,
  kProducerVersion = 3,
  kGraph = 7,
  kOpsetImport = 8,
  kTraining = 20,
  kFunctions = 25
};
}
namespace opset_field {
enum : uint32_t { kDomain = 1, kVersion = 2 };
}
namespace function_field {
enum : uint32_t { kName = 1, kNode = 7 };
}
namespace training_field {
enum : uint32_t { kInitialization = 1, kAlgorithm = 2 };
}
namespace graph_field {
enum : uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kQuantization = 14,
  kSparseInitializer = 15
};
}
namespace node_field {
enum : uint32_t { kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5, kDomain = 7 };
}
namespace attribute_field {
enum : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kType = 20,
  kSparseTensor = 22,
  kSparseTensors = 23
};
}
namespace tensor_field {
enum : uint32_t {
  kDims = 1,
  kDataType = 2,
  kName = 8,
  kRawData = 9,
  kExternalData = 13,
  kDataLocation = 14
};
}
namespace sparse_field {
enum : uint32_t { kValues = 1, kIndices = 2 };
}
namespace value_field {
enum : uint32_t { kName = 1, kType = 2 };
}
namespace type_field {
enum : uint32_t { kTensor = 1, kSparseTensor = 8 };
}
namespace tensor_type_field {
enum : uint32_t { kElementType = 1, kShape = 2 };
}
namespace shape_field {
enum : uint32_t { kDim = 1 };
}
namespace dim_field {
enum : uint32_t { kSize = 1 };
}

// nullopt for codes of types that we cannot decode.
std::optional<DType> dtype_from_onnx(uint64_t code);
// nullopt for types that ONNX does not have.
std::optional<uint64_t> onnx_from_dtype(DType dtype);

}  // namespace plumb::graph
