// SPDX-License-Identifier: Apache-2.0
//
// What a quantization is, as JSON: for people and scripts (quant.json), with the options that led
// to it (config.expanded.json), and as AMCT describes one (quant_graph.json; the form is described
// in graph/ge_json.cpp).
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/json_values.h"
#include "quant/quantize.h"

namespace plumb::quant {
namespace {

Json type_json(const std::optional<DType>& dtype) {
  return dtype ? std::string(name_of(*dtype)) : "float32";
}

Json tensor_json(const Quantizer& quantizer, const ActivationGrid& activation,
                 const Observation& seen, const Settings& settings) {
  Json json;
  json["tensor"] = quantizer.name();
  json["dtype"] = name_of(activation.dtype);
  json["scale"] = activation.grid.scale;
  json["zero_point"] = activation.grid.zero;
  json["range"] = {number_json(activation.range.lo), number_json(activation.range.hi)};
  json["observer"] = quantizer.given   ? "table"
                     : quantizer.fixed ? "fixed"
                                       : text_of(settings.observer);
  if (quantizer.is_observed()) {
    json["min"] = number_json(seen.min);
    json["max"] = number_json(seen.max);
    json["elements"] = seen.count;
    json["zeros"] =
        seen.count == 0 ? 0 : static_cast<double>(seen.zeros) / static_cast<double>(seen.count);
    json["clipped"] = clipped_share(seen.histogram, activation.grid);
  }
  Json shared = Json::array();
  for (size_t i = 1; i < quantizer.tensors.size(); ++i) shared.push_back(quantizer.tensors[i]);
  for (const std::string& tensor : quantizer.passed) shared.push_back(tensor);
  json["shared_with"] = std::move(shared);
  return json;
}

Json weight_json(const QuantizedWeight& weight) {
  Json json;
  json["dtype"] = name_of(weight.dtype);
  json["axis"] = weight.axis ? Json(*weight.axis) : Json();
  Json scales = Json::array();
  for (const Grid& grid : weight.values.grids) scales.push_back(grid.scale);
  if (weight.blocked) {
    json["block"] = weight.blocked->block;
    scales = weight.blocked->scales;
  }
  json["scales"] = std::move(scales);
  json["sqnr_db"] = number_json(weight.sqnr_db);
  json["bias"] = weight.bias.empty() ? "float32" : "int32";
  if (!weight.widened.empty()) json["widened_channels"] = weight.widened;
  return json;
}

Json settings_json(const Settings& settings) {
  Json json;
  json["precision"] = text_of(settings.precision);
  json["activations"] = type_json(settings.precision.activations);
  json["weights"] = type_json(settings.precision.weights);
  json["symmetric_activations"] = settings.is_symmetric;
  json["per_channel"] = settings.per_channel;
  json["method"] = text_of(settings.observer);
  json["weight_method"] = text_of(settings.weight_observer);
  json["margin"] = settings.margin ? Json(*settings.margin) : Json();
  json["reduced_range"] = settings.weights_are_reduced;
  json["power_of_two"] = settings.is_power_of_two;
  json["integer_bias"] = settings.has_integer_bias;
  return json;
}

Json requests_json(std::span<const LayerRequest> requests) {
  Json list = Json::array();
  for (const LayerRequest& request : requests)
    list.push_back({{"where", request.where},
                    {"selector", request.selector},
                    {"precision", text_of(request.precision)},
                    {"layers", request.layers}});
  return list;
}

// ---- as AMCT writes it ----

Json attribute(const char* key, Json value) { return {{"key", key}, {"value", std::move(value)}}; }

Json output_desc(std::string_view origin, size_t index, const char* dtype) {
  Json attributes = Json::array();
  if (!origin.empty()) {
    attributes.push_back(attribute("_datadump_origin_name", {{"s", origin}}));
    attributes.push_back(attribute("_datadump_origin_output_index", {{"i", index}}));
  }
  return {{"attr", std::move(attributes)}, {"dtype", dtype}};
}

class GraphWriter {
 public:
  GraphWriter(const Lab& lab, const Quantization& made) : lab_(lab) {
    const Plan& plan = lab.plan();
    for (size_t i = 0; i < plan.layers.size(); ++i)
      if (made.weights[i]) layer_of_[plan.layers[i].node] = i;
  }

  Json write() {
    const graph::OnnxGraph& graph = lab_.prepared().model.graph;
    for (const graph::OnnxValue& input : graph.inputs) {
      const std::string name(input.name);
      add(name, "Input", {}, {name}, {output_desc(name, 0, "DT_FLOAT")});
      place_of_[name] = {name, 0, name, 0};
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) add_node(i);
    return {{"name", std::string(graph.name)},
            {"graph", {{{"name", std::string(graph.name)}, {"op", std::move(operators_)}}}}};
  }

 private:
  // Where a tensor comes from, here and in the original model.
  struct Place {
    std::string op;
    size_t output = 0;
    std::string origin;
    size_t origin_output = 0;
  };

  void add(const std::string& name, std::string_view type, const Json& inputs,
           const std::vector<std::string>& origins, Json outputs) {
    Json op;
    op["name"] = name;
    op["type"] = type;
    op["id"] = ++id_;
    if (!inputs.empty()) op["input"] = inputs;
    op["attr"] = {
        attribute("_datadump_original_op_names", {{"list", {{"val_type", 1}, {"s", origins}}}})};
    op["output_desc"] = std::move(outputs);
    operators_.push_back(std::move(op));
  }

  static std::string edge(const Place& place) {
    return fmt::format("{}:{}", place.op, place.output);
  }

  void add_node(size_t index) {
    const graph::OnnxNode& node = lab_.prepared().node(index);
    std::vector<std::string> origins{lab_.prepared().layer_name(node)};
    if (origins[0] != node.name) origins.push_back(node.name);  // a folded normalisation
    Json inputs = Json::array();
    for (const std::string_view input : node.inputs)
      if (const auto found = place_of_.find(std::string(input)); found != place_of_.end())
        inputs.push_back(edge(found->second));
    const auto layer = layer_of_.find(index);
    const bool is_quantized = layer != layer_of_.end() && !inputs.empty();
    if (is_quantized) {
      const Place& from = place_of_.at(std::string(node.inputs[0]));
      add(node.name + ".quant", "AscendQuant", {edge(from)}, {from.origin},
          {output_desc(from.origin, from.origin_output, "DT_INT8")});
      inputs[0] = node.name + ".quant:0";
      add(node.name, node.type, inputs, origins, {output_desc({}, 0, "DT_INT32")});
      add(node.name + ".dequant", "AscendDequant", {node.name + ":0"}, origins,
          {output_desc(node.name, 0, "DT_FLOAT16")});
      place_of_[std::string(node.outputs[0])] = {node.name + ".dequant", 0, node.name, 0};
      return;
    }
    Json outputs = Json::array();
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      outputs.push_back(output_desc(node.name, k, "DT_FLOAT"));
      place_of_[std::string(node.outputs[k])] = {node.name, k, node.name, k};
    }
    add(node.name, node.type, inputs, origins, std::move(outputs));
  }

  const Lab& lab_;
  std::unordered_map<size_t, size_t> layer_of_;  // by node
  std::unordered_map<std::string, Place> place_of_;
  Json operators_ = Json::array();
  int64_t id_ = 0;
};

}  // namespace

std::string quant_json(const Lab& lab, const Quantization& made, const Calibration& calibration,
                       const Settings& settings, std::span<const LayerRequest> requests,
                       std::span<const Repair> repairs) {
  const Plan& plan = lab.plan();
  Json json;
  json["schema"] = "plumb.quant/1";
  json["model"] = lab.model().path();
  json["settings"] = settings_json(settings);
  json["calibration"] = {{"samples", calibration.samples}};
  json["tensors"] = Json::array();
  for (size_t i = 0; i < plan.quantizers.size(); ++i)
    if (made.activations[i])
      json["tensors"].push_back(
          tensor_json(plan.quantizers[i], *made.activations[i], calibration.seen[i], settings));
  json["layers"] = Json::array();
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    Json entry;
    entry["layer"] = layer.name;
    entry["type"] = layer.type;
    entry["precision"] = layer.is_tail ? "float" : text_of(made.precisions[i]);
    Json inputs = Json::array();
    for (const size_t input : layer.inputs) inputs.push_back(plan.quantizers[input].name());
    entry["inputs"] = std::move(inputs);
    entry["output"] = layer.output_tensor;
    if (made.weights[i]) entry["weight"] = weight_json(*made.weights[i]);
    json["layers"].push_back(std::move(entry));
  }
  json["requests"] = requests_json(requests);
  json["repairs"] = Json::array();
  for (const Repair& repair : repairs)
    json["repairs"].push_back({{"name", repair.name},
                               {"before_db", number_json(repair.before_db)},
                               {"after_db", number_json(repair.after_db)},
                               {"kept", repair.is_kept()}});
  json["left_float"] = plan.left_float;
  json["notes"] = lab.prepared().notes;
  if (settings.precision == Precision{} && !settings.weights_are_reduced)
    json["notes"].push_back(
        "integer kernels of x86 processors without VNNI clip sums of two products of uint8 and "
        "int8 "
        "at 16 bits: model_qdq.onnx may lose more there (--reduced-range avoids it)");
  return text_of_json(json);
}

std::string quant_graph_json(const Lab& lab, const Quantization& made) {
  return text_of_json(GraphWriter(lab, made).write());
}

std::string calibration_table(const Lab& lab, const Quantization& made, bool is_json) {
  Json tensors = Json::object();
  std::string lines;
  const auto end = [](double number) {
    return Json{{"data", number_json(number)}, {"dtype", "float32"}, {"CLS", "numpy.array"}};
  };
  const Plan& plan = lab.plan();
  for (size_t i = 0; i < plan.quantizers.size(); ++i) {
    if (!made.activations[i]) continue;
    const Range& range = made.activations[i]->range;
    for (const auto* names : {&plan.quantizers[i].tensors, &plan.quantizers[i].passed})
      for (const std::string& name : *names) {
        tensors[name] = {
            {"lowest", end(range.lo)}, {"highest", end(range.hi)}, {"CLS", "TensorData"}};
        lines += fmt::format("{} {}\n", name, std::max(-range.lo, range.hi));
      }
  }
  return is_json ? text_of_json({{"CLS", "TensorsData"}, {"data", std::move(tensors)}}) : lines;
}

std::string expanded_config_json(const QuantizeOptions& options, const Lab& lab) {
  const auto samples = [](const input::SampleOptions& from) {
    Json json;
    json["inputs"] = from.inputs;
    json["size"] = from.most ? Json(*from.most) : Json("all");
    json["seed"] = from.seed.empty() ? "0" : from.seed;
    for (const auto& [name, text] :
         {std::pair<const char*, const std::string&>{"config", from.config},
          {"input_color", from.color},
          {"resize", from.resize},
          {"crop", from.crop},
          {"interpolation", from.interpolation},
          {"scale", from.scale},
          {"mean", from.mean},
          {"std", from.std},
          {"layout", from.layout},
          {"source_color", from.source_color},
          {"source_size", from.source_size},
          {"color_standard", from.color_standard}})
      if (!text.empty()) json[name] = text;
    return json;
  };
  Json json;
  json["schema"] = "plumb.quantize/1";
  json["model"] = options.model.path.string();
  json["engine"] = lab.engine().version();
  json["calibration"] = samples(options.calibration);
  json["measurement"] =
      options.measurement ? samples(*options.measurement) : Json("as calibration");
  json["quantize_outputs"] = options.plan.quantize_outputs;
  json["align_concat"] = options.plan.align_concat;
  if (const RangeTable* table = options.plan.ranges.get())
    json["ranges"] = {{"file", table->path}, {"tool", table->tool}, {"crc32", table->crc}};
  json["settings"] = settings_json(options.settings);
  json["layers"] = requests_json(options.requests);
  json["profile"] = options.profile;
  json["equalize"] = options.equalize;
  json["smooth"] = options.smooth ? Json(*options.smooth) : Json();
  json["bias_correct"] = options.correct_bias;
  json["threads"] = options.threads;
  return text_of_json(json);
}

}  // namespace plumb::quant
