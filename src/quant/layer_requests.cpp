// SPDX-License-Identifier: Apache-2.0
#include "quant/layer_requests.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/name_pattern.h"
#include "base/nearest.h"

namespace plumb::quant {
namespace {

using Kind = LayerRequest::Kind;

// Nodes on a way from one of the tensors `starts` to one of `ends`: behind the former, and before
// the latter. "DEFAULT" stands for the inputs, and the outputs, of the model.
Result<std::vector<bool>> nodes_between(const graph::OnnxGraph& graph,
                                        const LayerRequest& request) {
  std::set<std::string_view> behind, before, known;
  for (const graph::OnnxValue& input : graph.inputs) known.insert(input.name);
  for (const graph::OnnxNode& node : graph.nodes)
    known.insert(node.outputs.begin(), node.outputs.end());
  const auto put = [&](const std::vector<std::string>& names,
                       const std::vector<graph::OnnxValue>& own,
                       std::set<std::string_view>& into) -> Result<void> {
    for (const std::string& name : names) {
      if (name == "DEFAULT") {
        for (const graph::OnnxValue& value : own) into.insert(value.name);
        continue;
      }
      const auto found = known.find(name);
      if (found == known.end())
        return Error{fmt::format("no tensor of the model is '{}'", name), request.where,
                     did_you_mean(name, std::vector<std::string>(known.begin(), known.end())) +
                         "use a tensor that the model has after batch normalisation is folded"};
      into.insert(*found);
    }
    return {};
  };
  if (auto done = put(request.starts, graph.inputs, behind); !done) return done.error();
  if (auto done = put(request.ends, graph.outputs, before); !done) return done.error();
  std::vector<bool> is_behind(graph.nodes.size()), is_between(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    graph::each_read(graph.nodes[i], [&](std::string_view name) {
      if (behind.contains(name)) is_behind[i] = true;
    });
    if (is_behind[i]) behind.insert(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
  }
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const auto& outputs = graph.nodes[i].outputs;
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&](std::string_view name) { return before.contains(name); }))
      continue;
    is_between[i] = is_behind[i];
    graph::each_read(graph.nodes[i], [&](std::string_view name) { before.insert(name); });
  }
  return is_between;
}

bool matches(const LayerRequest& request, const Layer& layer) {
  switch (request.by) {
    case Kind::kAll: return true;
    case Kind::kPart: return false;  // by nodes
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

namespace {

// Lines of "LAYER MODE"; '#' begins a comment.
Result<std::vector<LayerRequest>> requests_from_qtable(std::string_view text,
                                                       const std::string& path,
                                                       const Precision& like) {
  struct Mode {
    std::string_view word, precision;
  };
  constexpr Mode kModes[] = {{"F32", "float"},   {"F16", "float"},   {"BF16", "float"},
                             {"INT8", "a8w8"},   {"W8A16", "a16w8"}, {"W4A16", "a16w4"},
                             {"W8F16", "float"}, {"W4F16", "float"}, {"W8BF16", "float"},
                             {"INT16", "a16w16"}};
  std::vector<LayerRequest> requests;
  for (size_t at = 0, line = 1; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view rest = text.substr(at, end - at);
    at = end + 1;
    rest = rest.substr(0, rest.find('#'));
    std::vector<std::string> words;
    while (true) {
      const size_t from = rest.find_first_not_of(" \t\r");
      if (from == rest.npos) break;
      const size_t to = std::min(rest.find_first_of(" \t\r", from), rest.size());
      words.emplace_back(rest.substr(from, to - from));
      rest = rest.substr(to);
    }
    if (words.empty()) continue;
    const std::string where = fmt::format("{}, line {}", path, line);
    const auto* mode = std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& each) {
      return words.size() == 2 && each.word == words[1];
    });
    if (mode == std::end(kModes))
      return Error{"a layer and its mode were expected", where,
                   R"(write "conv1 F32" or "conv1 INT8", or {"layers": {"conv1": "a16w8"}})"};
    auto request = request_of(where, words[0], std::string(mode->precision), like);
    if (!request) return request.error();
    request->by = Kind::kName;
    requests.push_back(std::move(*request));
  }
  if (requests.empty())
    return Error{"the file names no layers", path, R"(write {"layers": {"conv1": "a16w8"}})"};
  return requests;
}

}  // namespace

Result<std::vector<LayerRequest>> requests_from_file(const std::string& path,
                                                     const Precision& like) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  return requests_from_table(as_text(file->bytes()), path, like);
}

Result<std::vector<LayerRequest>> requests_from_table(std::string_view text,
                                                      const std::string& path,
                                                      const Precision& like) {
  if (text.find("layer_configs") != text.npos || text.find("operator_conf_items") != text.npos) {
    // A list of layers alone, as tables have it, is a part of the configuration.
    const bool is_part = text.find("operator_conf_items") != text.npos &&
                         text.find("operator_conf ") == text.npos &&
                         text.find("operator_conf{") == text.npos;
    auto config = input::parse_config(
        is_part ? fmt::format("neuwizard_conf {{ operator_conf {{ {}\n}} }}", text)
                : std::string(text),
        path);
    if (!config) return config.error();
    return requests_from_config(*config, like);
  }
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{') return requests_from_qtable(text, path, like);
  auto tree = input::tree_from_json(text);
  if (!tree) return std::move(tree.error()).in(path);
  std::vector<LayerRequest> requests;
  for (const char* list : {"nodes_to_exclude", "skip_layers"})
    for (const input::ConfigNode& field : tree->fields)
      if (field.name == list)
        requests.push_back({fmt::format("{}, line {}", path, field.line), field.value, Kind::kName,
                            false, Precision{std::nullopt, std::nullopt}, 0});
  if (!requests.empty()) return requests;
  const input::ConfigNode* layers = tree->find("layers");
  if (layers == nullptr)
    return Error{"the file names no layers", path, R"(write {"layers": {"conv1": "a16w8"}})"};
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
    if (!layer.starts.empty() || !layer.ends.empty()) {
      LayerRequest& part = requests.emplace_back();
      part.where = where;
      part.by = Kind::kPart;
      part.precision = precision;
      part.starts = layer.starts.empty() ? std::vector<std::string>{"DEFAULT"} : layer.starts;
      part.ends = layer.ends.empty() ? std::vector<std::string>{"DEFAULT"} : layer.ends;
      part.selector =
          fmt::format("{} to {}", fmt::join(part.starts, ", "), fmt::join(part.ends, ", "));
    } else if (layer.names.empty() && layer.types.empty()) {
      add("", Kind::kAll, false);
    }
  }
  return requests;
}

Result<std::vector<Precision>> apply_requests(const PreparedModel& model, const Plan& plan,
                                              const Precision& otherwise,
                                              std::vector<LayerRequest>& requests) {
  std::vector<Precision> precisions(plan.layers.size(), otherwise);
  for (const Kind kind : {Kind::kAll, Kind::kPart, Kind::kType, Kind::kPattern, Kind::kName})
    for (LayerRequest& request : requests) {
      if (request.by != kind) continue;
      std::vector<bool> part;
      if (kind == Kind::kPart) {
        auto nodes = nodes_between(model.model.graph, request);
        if (!nodes) return nodes.error();
        part = std::move(*nodes);
      }
      for (size_t i = 0; i < plan.layers.size(); ++i) {
        const bool is_meant =
            part.empty() ? matches(request, plan.layers[i]) : part[plan.layers[i].node];
        if (!is_meant) continue;
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
