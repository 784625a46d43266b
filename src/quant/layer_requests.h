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
  enum class Kind : uint8_t { kAll, kType, kPattern, kName } by = Kind::kName;
  bool is_regex = false;
  Precision precision;
  size_t layers = 0;  // that it set
};

// "conv1=a16w8", "conv*=float".
Result<LayerRequest> request_from_text(const std::string& text, const Precision& like);
// Lines of a file: {"layers": {"conv1": "a16w8"}}, as `mixed.json` has it.
Result<std::vector<LayerRequest>> requests_from_file(const std::string& path,
                                                     const Precision& like);
// operator_conf_items of Pulsar, layer_configs of pulsar2.
Result<std::vector<LayerRequest>> requests_from_config(const input::Config& config,
                                                       const Precision& like);

// A precision for each layer; a name beats a pattern, which beats a type. An error if a request
// matches nothing.
Result<std::vector<Precision>> apply_requests(const Plan& plan, const Precision& otherwise,
                                              std::vector<LayerRequest>& requests);

}  // namespace plumb::quant
