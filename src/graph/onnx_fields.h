// SPDX-License-Identifier: Apache-2.0
//
// The messages of onnx/onnx.proto as far as we look into them: field numbers and element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tensor/dtype.h"

namespace plumb::graph {

inline constexpr int kMaxOnnxDepth = 32;  // of bodies within bodies

namespace model_field {
enum : uint32_t { kIrVersion = 1, kGraph = 7, kOpsetImport = 8, kTraining = 20, kFunctions = 25 };
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
  kTensor = 5,
  kGraph = 6,
  kInts = 8,
  kTensors = 10,
  kGraphs = 11,
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

// nullopt for codes of types that we cannot decode.
std::optional<DType> dtype_from_onnx(uint64_t code);
// nullopt for types that ONNX does not have.
std::optional<uint64_t> onnx_from_dtype(DType dtype);

// Edges and dumps go by operator names, which ONNX lets repeat. The first keeps its name; others
// are called after their first tensor, or numbered.
class UniqueNames {
 public:
  std::string claim(std::string name, std::string_view tensor = {}) {
    if (used_.try_emplace(name, 1).second) return name;
    if (!tensor.empty() && used_.try_emplace(std::string(tensor), 1).second)
      return std::string(tensor);
    for (int& copy = used_[name];;)
      if (std::string numbered = name + "_" + std::to_string(++copy);
          used_.try_emplace(numbered, 1).second)
        return numbered;
  }

 private:
  std::unordered_map<std::string, int> used_;  // with how many there are of it
};

}  // namespace plumb::graph
