// SPDX-License-Identifier: Apache-2.0
#include "graph/ge.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/number_from_text.h"

namespace plumb::graph {
namespace {

struct NamedKey {
  std::string_view name;
  GeKey key;
};
constexpr NamedKey kOperatorKeys[] = {
    {"_datadump_original_op_names", GeKey::kOriginalNames},
    {"_datadump_is_multiop", GeKey::kIsMultiOp},
    {"_L1_fusion_sub_graph_no", GeKey::kL1Group},
    {"scale", GeKey::kScale},
    {"offset", GeKey::kOffset},
    {"sqrt_mode", GeKey::kSqrtMode},
};
constexpr NamedKey kOutputKeys[] = {
    {"_datadump_origin_name", GeKey::kOriginName},
    {"_datadump_origin_output_index", GeKey::kOriginOutput},
    {"_datadump_origin_format", GeKey::kOriginLayout},
    {"origin_format", GeKey::kFallbackLayout},
    {"origin_shape", GeKey::kOriginShape},
    {"_fx_tensor_name", GeKey::kFxTensorName},
};

// Of the model. `atc_version` is a component's: 1.82.22.2 came with CANN 5.1.RC2, 7.6.0.1 with 8.0.
constexpr std::string_view kProperties[] = {"atc_version", "opp_version",    "soc_version",
                                            "arch_type",   "framework_type", "compiler_version"};
constexpr std::string_view kCommandLine = "atc_cmdline";

constexpr size_t kMostCalls = 32;  // of a graph within a graph within ...

template <size_t N>
GeKey find(const NamedKey (&keys)[N], std::string_view name) {
  const auto* found = std::find_if(std::begin(keys), std::end(keys),
                                   [&](const NamedKey& key) { return key.name == name; });
  return found != std::end(keys) ? found->key : GeKey::kNone;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

GeKey ge_operator_key(std::string_view key) { return find(kOperatorKeys, key); }
GeKey ge_output_key(std::string_view key) { return find(kOutputKeys, key); }

bool is_ge_property(std::string_view key) {
  return key == kCommandLine ||
         std::find(std::begin(kProperties), std::end(kProperties), key) != std::end(kProperties);
}

void set_ge_property(Graph& graph, std::string_view key, std::string_view value) {
  if (key == kCommandLine) {
    graph.command_line = value;
    return;
  }
  const auto place = [](std::string_view name) {
    return std::find(std::begin(kProperties), std::end(kProperties), name);
  };
  const auto at =
      std::find_if(graph.properties.begin(), graph.properties.end(),
                   [&](const auto& property) { return place(property.first) >= place(key); });
  if (at != graph.properties.end() && at->first == key) {
    at->second = value;
  } else {
    graph.properties.emplace(at, key, value);
  }
}

void GeOperator::set(GeKey key, GeValue value) {
  // A scale that is not finite is nothing to work with.
  if (value.f && !std::isfinite(*value.f)) value.f.reset();
  switch (key) {
    case GeKey::kOriginalNames: op.origins = std::move(value.list_s); break;
    case GeKey::kIsMultiOp: op.is_multi_op = value.b.value_or(false); break;
    case GeKey::kL1Group:
      if (value.s) {
        op.l1_group = std::move(*value.s);
      } else if (value.i) {
        op.l1_group = std::to_string(*value.i);
      }
      break;
    case GeKey::kScale: scale_ = value.f; break;
    case GeKey::kOffset: offset_ = value.f; break;
    case GeKey::kSqrtMode: sqrt_mode_ = value.b.value_or(false); break;
    default: break;
  }
}

void GeOperator::set(Output& output, GeKey key, GeValue value) {
  switch (key) {
    case GeKey::kOriginName:
      if (value.s) output.origin = std::move(*value.s);
      break;
    case GeKey::kOriginOutput: output.origin_output = value.i; break;
    case GeKey::kOriginLayout:
      if (value.s) output.origin_layout = std::move(*value.s);
      break;
    case GeKey::kFallbackLayout:
      if (value.s && output.origin_layout.empty()) output.origin_layout = std::move(*value.s);
      break;
    case GeKey::kOriginShape: output.origin_shape = std::move(value.list_i); break;
    case GeKey::kFxTensorName:
      if (value.s) output.name = std::move(*value.s);
      break;
    default: break;
  }
}

void GeOperator::add_input(std::string_view text) {
  if (text.empty() || text.ends_with(":-1")) return;
  Edge edge;
  const size_t colon = text.rfind(':');  // names of other frameworks may have colons themselves
  if (colon != std::string_view::npos && colon > 0 && is_digit(text.back())) {
    edge.output = number_from_text<decltype(edge.output)>(text.substr(colon + 1)).value_or(-1);
    if (edge.output >= 0) edge.producer = without_slice(text.substr(0, colon));
  }
  if (edge.producer.empty()) {
    edge.output = 0;
    if (odd_inputs_++ == 0) odd_input_ = text;
  }
  op.inputs.push_back(std::move(edge));
}

Operator GeOperator::finish(std::vector<std::string>& warnings) && {
  if (odd_inputs_ > 0) {
    const std::string others =
        odd_inputs_ > 1 ? fmt::format(", like {} more", odd_inputs_ - 1) : std::string();
    warnings.push_back(fmt::format("operator '{}': input '{}' is not written as producer:output{}",
                                   op.name, odd_input_, others));
  }
  if (op.type == "AscendQuant" && scale_) {
    const double scale = sqrt_mode_ ? *scale_ * *scale_ : *scale_;
    op.quantization = Quantization{scale, offset_.value_or(0)};
  }
  return std::move(op);
}

std::optional<DType> ge_dtype(std::string_view name) {
  constexpr std::string_view kPrefix = "DT_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::string lower(name.substr(kPrefix.size()));
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return dtype_from_name(lower);
}

std::string without_slice(std::string_view name) {
  constexpr std::string_view kMark = "_lxslice";
  std::string kept;
  size_t from = 0;
  for (size_t at = 0; (at = name.find(kMark, at)) != std::string_view::npos;) {
    size_t end = at + kMark.size();
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end > at + kMark.size()) {
      kept += name.substr(from, at - from);
      from = end;
    }
    at = end;
  }
  kept += name.substr(from);
  return kept;
}

bool name_subgraphs(Graph& graph, const std::vector<GePart>& parts, MemoryLimit& limit) {
  size_t at = 0;
  for (const GePart& part : parts) {
    for (; at < part.end; ++at) {
      if (!limit.take(part.name.size())) return false;
      graph.operators[at].subgraph = part.name;
    }
  }
  return true;
}

void set_model_outputs(Graph& graph, const GeCalls& calls) {
  const auto is_output = [](const Operator& op) { return op.type == "NetOutput"; };
  const auto first = std::find_if(graph.operators.begin(), graph.operators.end(), is_output);
  for (auto op = first; op != graph.operators.end(); ++op)
    if (is_output(*op) && op->subgraph == first->subgraph)
      graph.outputs.insert(graph.outputs.end(), op->inputs.begin(), op->inputs.end());
  std::unordered_map<std::string_view, const Operator*> results;  // by subgraph
  for (const Operator& op : graph.operators)
    if (is_output(op)) results.try_emplace(op.subgraph, &op);
  for (Edge& edge : graph.outputs)
    for (size_t depth = 0; depth < kMostCalls; ++depth) {
      const auto called = calls.find(edge.producer);
      if (called == calls.end()) break;
      const auto result = results.find(called->second);
      if (result == results.end() || edge.output >= std::ssize(result->second->inputs)) break;
      edge = Edge(result->second->inputs[static_cast<size_t>(edge.output)]);
    }
}

}  // namespace plumb::graph
