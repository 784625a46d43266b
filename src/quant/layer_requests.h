// SPDX-License-Identifier: Apache-2.0
//
// Layers that are to compute in another type than the rest, as a person or a vendor's configuration
// says it. Each request is counted: one that matches no layer has no effect, and somebody thinks
// that it has.
#pragma once

#include "input/config.h"
#include "quant/quantization.h"

namespace plumb::quant {

struct LayerRequest {
  std::string where;     // "--layer conv1=a16w8", "config.json, line 12"
  std::string selector;  // as written: a name, a pattern, a type
  enum class Kind : uint8_t { kAll, kPart, kType, kPattern, kName } by = Kind::kName;
  bool is_regex = false;
  Precision precision;
  size_t layers = 0;                                // that it set
  std::vector<std::string> starts = {}, ends = {};  // of a part: tensors; none: those of the model
};

// "conv1=a16w8", "conv*=float".
Result<LayerRequest> request_from_text(const std::string& text, const Precision& like);
// Of a file: {"layers": {"conv1": "a16w8"}}, as `mixed.json` has it, or a table of another tool,
// known by its content: {"nodes_to_exclude": [...]} of ONNX Runtime, {"skip_layers": [...]} of
// AMCT, layer_configs of pulsar2, operator_conf_items of Pulsar, lines of "LAYER MODE" of
// tpu-mlir's qtable.
Result<std::vector<LayerRequest>> requests_from_file(const std::string& path,
                                                     const Precision& like);
// The same of its text; `path` is for messages.
Result<std::vector<LayerRequest>> requests_from_table(std::string_view text,
                                                      const std::string& path,
                                                      const Precision& like);
// operator_conf_items of Pulsar, layer_configs of pulsar2.
Result<std::vector<LayerRequest>> requests_from_config(const input::Config& config,
                                                       const Precision& like);

// A precision for each layer; a name beats a pattern, which beats a type, which beats a part. An
// error if a request matches nothing.
Result<std::vector<Precision>> apply_requests(const PreparedModel& model, const Plan& plan,
                                              const Precision& otherwise,
                                              std::vector<LayerRequest>& requests);

}  // namespace plumb::quant
