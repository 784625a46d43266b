// SPDX-License-Identifier: Apache-2.0
#include "quant/layer_requests.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/name_pattern.h"
#include "base/nearest.h"

namespace plumb::quant {
namespace {

using Kind = LayerRequest::Kind;

bool matches(const LayerRequest& request, const Layer& layer) {
  switch (request.by) {
    case Kind::kAll: return true;
    case Kind::kType: return request.selector == layer.type;
    case Kind::kName: return request.selector == layer.name;
    case Kind::kPattern: break;
  }
  if (request.is_regex)
    return input::simple_regex_matches(request.selector, layer.name).value_or(false);
  return operator_matches(request.selector, layer.name);
}

Kind kind_of_selector(const std::string& text) {
  return text.find_first_of("*?[") == text.npos ? Kind::kName : Kind::kPattern;
}

Result<LayerRequest> request_of(std::string where, const std::string& selector,
                                const std::string& text, const Precision& like) {
  const auto precision = precision_from_text(text, like);
  if (!precision)
    return Error{fmt::format("'{}' is no precision of a layer", text), std::move(where),
                 "use one of a8w8, a16w8, a16w16, a8w4, a8w16 or float"};
  return LayerRequest{std::move(where), selector, kind_of_selector(selector), false, *precision, 0};
}

// "U16", "UINT16", "S8", "INT8", "FP32", "FLOAT32".
Result<std::optional<DType>> type_from_word(const std::string& word, std::string_view where) {
  if (word == "FP32" || word == "FLOAT32") return std::optional<DType>();
  const bool is_unsigned = word.starts_with("U");
  const size_t digit = word.find_first_of("0123456789");
  const std::string bits = digit == word.npos ? "" : word.substr(digit);
  const auto dtype = integer_from_text((is_unsigned ? "u" : "s") + bits);
  if (dtype) return dtype;
  return Error{fmt::format("layers cannot be simulated in '{}'", word), std::string(where),
               "use U8, S8, U16, S16 or FP32"};
}

}  // namespace

Result<LayerRequest> request_from_text(const std::string& text, const Precision& like) {
  const size_t sign = text.rfind('=');
  if (sign == text.npos || sign == 0)
    return Error{"a layer and its precision were expected", "--layer " + text,
                 "for example --layer conv1=a16w8"};
  return request_of("--layer " + text, text.substr(0, sign), text.substr(sign + 1), like);
}

Result<std::vector<LayerRequest>> requests_from_file(const std::string& path,
                                                     const Precision& like) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto tree = input::tree_from_json(as_text(file->bytes()));
  if (!tree) return std::move(tree.error()).in(path);
  const input::ConfigNode* layers = tree->find("layers");
  if (layers == nullptr)
    return Error{"the file names no layers", path, R"(write {"layers": {"conv1": "a16w8"}})"};
  std::vector<LayerRequest> requests;
  for (const input::ConfigNode& field : layers->fields) {
    auto request =
        request_of(fmt::format("{}, line {}", path, field.line), field.name, field.value, like);
    if (!request) return request.error();
    requests.push_back(std::move(*request));
  }
  return requests;
}

Result<std::vector<LayerRequest>> requests_from_config(const input::Config& config,
                                                       const Precision& like) {
  std::vector<LayerRequest> requests;
  for (const input::ConfigLayer& layer : config.layers) {
    const std::string where = fmt::format("{}, line {}", config.file, layer.line);
    Precision precision = like;
    if (!layer.data_type.empty()) {
      auto type = type_from_word(layer.data_type, where);
      if (!type) return type.error();
      precision.activations = *type;
      if (!*type) precision.weights.reset();
    }
    if (!layer.weight_data_type.empty()) {
      auto type = type_from_word(layer.weight_data_type, where);
      if (!type) return type.error();
      precision.weights = *type;
    }
    const auto add = [&](const std::string& selector, Kind by, bool is_regex) {
      requests.push_back({where, selector, by, is_regex, precision, 0});
    };
    for (const std::string& name : layer.names)
      add(name, layer.is_pattern ? Kind::kPattern : Kind::kName, layer.is_pattern);
    for (const std::string& type : layer.types) add(type, Kind::kType, false);
    const auto is_default = [](const std::string& name) { return name == "DEFAULT"; };
    const bool is_part = !layer.starts.empty() || !layer.ends.empty();
    if (is_part && !(std::all_of(layer.starts.begin(), layer.starts.end(), is_default) &&
                     std::all_of(layer.ends.begin(), layer.ends.end(), is_default)))
      return Error{"parts of a model between tensors cannot be chosen yet", where,
                   "name the layers: layer_names"};
    if (is_part || (layer.names.empty() && layer.types.empty())) add("", Kind::kAll, false);
  }
  return requests;
}

Result<std::vector<Precision>> apply_requests(const Plan& plan, const Precision& otherwise,
                                              std::vector<LayerRequest>& requests) {
  std::vector<Precision> precisions(plan.layers.size(), otherwise);
  for (const Kind kind : {Kind::kAll, Kind::kType, Kind::kPattern, Kind::kName})
    for (LayerRequest& request : requests) {
      if (request.by != kind) continue;
      for (size_t i = 0; i < plan.layers.size(); ++i) {
        if (!matches(request, plan.layers[i])) continue;
        precisions[i] = request.precision;
        ++request.layers;
      }
    }
  for (const LayerRequest& request : requests) {
    if (request.layers > 0) continue;
    std::vector<std::string> names;
    for (const Layer& layer : plan.layers) names.push_back(layer.name);
    return Error{fmt::format("no layer of the model is '{}'", request.selector), request.where,
                 did_you_mean(request.selector, names) +
                     "`plumb sensitivity` lists the layers that are quantized"};
  }
  return precisions;
}

}  // namespace plumb::quant
