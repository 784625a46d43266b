// SPDX-License-Identifier: Apache-2.0
//
// What a search has found, for people and for the configurations of other tools.
#include <fmt/format.h>

#include "base/csv.h"
#include "base/file_sink.h"
#include "base/json_values.h"
#include "quant/tune.h"

namespace plumb::quant {
namespace {

std::string quoted_text(std::string_view text) { return line_of_json(text); }

std::string trials_csv(const Tuned& tuned) {
  std::string text = "step,change,sqnr_db,cosine,agree,drop,cost,weight_bits,best\n";
  for (size_t i = 0; i < tuned.steps.size(); ++i) {
    const Step& step = tuned.steps[i];
    text += fmt::format("{},", i);
    append_csv_text(text, step.change);
    const std::string drop =
        step.score.labelled > 0 ? fmt::format("{:.4f}", step.score.drop()) : "";
    text += fmt::format(",{:.4f},{:.8f},{:.6f},{},{:.4f},{:.3f},{}\n", step.score.sqnr_db(),
                        step.score.cosine(), step.score.agreement(), drop, step.cost,
                        step.weight_bits, step.is_best ? 1 : 0);
  }
  return text;
}

// "UINT16", "U16": as Pulsar and pulsar2 write types.
std::string pulsar_type(const std::optional<DType>& dtype) {
  if (!dtype) return "FLOAT32";
  std::string name(name_of(*dtype));
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return name;
}
std::string pulsar2_type(const std::optional<DType>& dtype) {
  if (!dtype) return "FP32";
  std::string name(text_of(*dtype));
  name[0] = static_cast<char>(name[0] - 32);
  return name;
}

// How ranges are found, as pulsar2 calls it; empty: it has no such way.
std::string pulsar2_method(const Observer& observer) {
  switch (observer.method) {
    case Method::kMinMax: return "MinMax";
    case Method::kPercentile: return "Percentile";
    case Method::kMse: return "MSE";
    case Method::kKl: return "KL";
    default: return "";
  }
}
// ... and Pulsar, whose settings of the calibration stand elsewhere in the configuration.
std::string pulsar_calibration(const Tuned& tuned) {
  std::string text =
      fmt::format("# dataset_conf_calibration {{ calibration_strategy: {}",
                  tuned.per_channel ? "CALIB_STRATEGY_PER_CHANNEL" : "CALIB_STRATEGY_PER_TENSOR");
  if (tuned.method.method == Method::kMinMax) text += " observer_method: OBSVR_METHOD_MIN_MAX";
  if (tuned.method.method == Method::kMse) text += " observer_method: OBSVR_METHOD_MSE_CLIPPING";
  return text + " }\n";
}

}  // namespace

Result<void> write_tuned(const Tuned& tuned, const Lab& lab, const TuneOptions& options) {
  const Precision& usual = options.precisions.front();
  Json mixed, layer_configs = Json::array(), excluded = Json::array(), skipped = Json::array();
  mixed["layers"] = Json::object();
  std::string pulsar = pulsar_calibration(tuned), qtable;
  for (size_t i = 0; i < lab.plan().layers.size(); ++i) {
    const Precision& own = tuned.precisions[i];
    const Layer& layer = lab.plan().layers[i];
    if (own == usual || layer.is_tail) continue;
    mixed["layers"][layer.name] = text_of(own);
    pulsar += fmt::format(
        "operator_conf_items {{\n  selector {{\n    op_name: {}\n  }}\n  attributes {{\n"
        "    input_feature_type: {}\n    weight_type: {}\n  }}\n}}\n",
        quoted_text(layer.name), pulsar_type(own.activations), pulsar_type(own.weights));
    Json config{{"layer_name", layer.name}, {"data_type", pulsar2_type(own.activations)}};
    if (layer.weight && own.weights != usual.weights)
      config["weight_data_type"] = pulsar2_type(own.weights);
    layer_configs.push_back(std::move(config));
    qtable += fmt::format("{} {}\n", layer.name, own.is_float() ? "F32" : "F16");
    skipped.push_back(layer.name);
    if (own.is_float()) excluded.push_back(layer.name);
  }
  Json pulsar2;
  if (const std::string method = pulsar2_method(tuned.method); !method.empty())
    pulsar2["calibration_method"] = method;
  pulsar2["layer_configs"] = std::move(layer_configs);
  const auto& directory = options.quantize.directory;
  for (const auto& [name, text] :
       {std::pair<const char*, std::string>{"trials.csv", trials_csv(tuned)},
        {"mixed.json", text_of_json(mixed)},
        {"operator_conf_items.prototxt", pulsar},
        {"layer_configs.json", text_of_json({{"quant", pulsar2}})},
        {"qtable.txt", qtable},
        {"nodes_to_exclude.json", text_of_json({{"nodes_to_exclude", excluded}})},
        {"amct_skip_layers.json", text_of_json({{"skip_layers", skipped}})}})
    if (auto written = write_file(directory / name, text); !written) return written;
  return {};
}

}  // namespace plumb::quant
