// SPDX-License-Identifier: Apache-2.0
//
// The words of dump.json, the index of what `plumb dump` writes (described in docs/dump.md), for
// those who write it and those who read it: operators as they were run, their edges, their files.
#pragma once

#include <string_view>

namespace plumb::dump_schema {

inline constexpr const char *kFile = "dump.json", *kSchema = "plumb.dump/1";

// The format of a model whose modules were recorded by hooks as they ran, and the property by which
// its graph says so: what functions compute between modules is missing.
inline constexpr const char *kOfModules = "modules", *kRecorded = "recorded";

// True if the first bytes of a file look like such an index.
inline bool is_index(std::string_view head) {
  return head.starts_with('{') && head.substr(0, 256).find(kSchema) != std::string_view::npos;
}

namespace field {

// Of the whole.
inline constexpr const char *kSchema = "schema", *kTool = "tool", *kEngine = "engine",
                            *kOptimization = "optimization", *kModel = "model",
                            *kSavedGraph = "saved_graph", *kOperators = "operators",
                            *kOutputs = "outputs";  // of the model: edges
// Of the tool and the model.
inline constexpr const char *kVersion = "version", *kPath = "path", *kFormat = "format";
// Of an operator, which has outputs, too.
inline constexpr const char *kName = "name", *kType = "type", *kTimestamp = "timestamp",
                            *kSubgraph = "subgraph", *kInputs = "inputs", *kOrigins = "origins",
                            *kConstants = "constants", *kPrint = "print", *kElements = "elements",
                            *kPrecision = "precision";
// Of an edge, and of an input that was dumped.
inline constexpr const char *kProducer = "producer", *kOutput = "output";
// Of an output.
inline constexpr const char *kTensor = "tensor", *kDtype = "dtype", *kShape = "shape",
                            *kLayout = "layout", *kProblem = "problem", *kOrigin = "origin",
                            *kOriginOutput = "origin_output";
// Of both: where the elements are.
inline constexpr const char *kDataFile = "file", *kMember = "member";

}  // namespace field
}  // namespace plumb::dump_schema
