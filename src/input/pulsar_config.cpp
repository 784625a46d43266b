// SPDX-License-Identifier: Apache-2.0
//
// Pulsar's config.prototxt, as users write it, and output_config.prototxt, as the build expands it.
// Described in the vendor's public guide, chapter on the configuration file.
#include <array>

#include <fmt/format.h>

#include "input/config.h"

namespace plumb::input {
namespace {

Result<ConfigTensor> read_tensor(const ConfigNode& node) {
  ConfigTensor tensor;
  tensor.name = text_of(node, "tensor_name");
  tensor.line = node.line;
  tensor.data_type = text_of(node, "data_type");
  if (const ConfigNode* color = node.find("color_space")) {
    std::string_view word = color->value;
    if (word.starts_with("TENSOR_COLOR_SPACE_")) word.remove_prefix(19);
    tensor.color = color_space_from_name(word);
    if (!tensor.color)
      return not_understood(*color, "unknown colour space",
                            "TENSOR_COLOR_SPACE_ and AUTO, BGR, RGB, GRAY, NV12, NV21 or BGR0");
  }
  if (const ConfigNode* layout = node.find("tensor_layout")) {
    if (layout->value == "NHWC")
      tensor.layout = AxisOrder::kNhwc;
    else if (layout->value == "NCHW")
      tensor.layout = AxisOrder::kNchw;
    else if (layout->value != "NATIVE")
      return not_understood(*layout, "unknown layout", "use NHWC, NCHW or NATIVE");
  }
  if (const ConfigNode* standard = node.find("color_standard")) {
    constexpr std::array<std::pair<std::string_view, ColorStandard>, 3> kStandards{{
        {"CSC_LEGACY", ColorStandard::kLegacy},
        {"CSS_ITU_BT601_STUDIO_SWING", ColorStandard::kStudio},
        {"CSS_ITU_BT601_FULL_SWING", ColorStandard::kFull},
    }};
    for (const auto& [word, meaning] : kStandards)
      if (standard->value == word) tensor.yuv.standard = meaning;
    if (tensor.yuv.standard == ColorStandard::kUnset)
      return not_understood(
          *standard, "unknown colour standard",
          "use CSS_ITU_BT601_STUDIO_SWING, CSS_ITU_BT601_FULL_SWING or CSC_LEGACY");
  }
  return tensor;
}

Result<void> read_tensors(const ConfigNode& root, std::initializer_list<std::string_view> names,
                          std::vector<ConfigTensor>& into) {
  for (const std::string_view name : names)
    for (const ConfigNode* node : root.all(name)) {
      auto tensor = read_tensor(*node);
      if (!tensor) return tensor.error();
      into.push_back(std::move(*tensor));
    }
  return {};
}

Result<void> read_lists(
    const ConfigNode& node,
    std::initializer_list<std::pair<std::string_view, std::vector<double>*>> lists, int& line) {
  for (const auto& [name, list] : lists) {
    auto numbers = numbers_of(node, name);
    if (!numbers) return numbers.error();
    *list = std::move(*numbers);
    if (const auto nodes = node.all(name); !nodes.empty() && line == node.line)
      line = nodes.front()->line;
  }
  return {};
}

Result<void> read_steps(const ConfigNode& modifications, std::vector<ConfigStep>& steps) {
  for (const ConfigNode& node : modifications.fields) {
    ConfigStep step{{}, node.line, 0};
    Modification& change = step.change;
    Result<void> read;
    if (node.name == "affine_preprocess") {
      read = read_lists(node,
                        {{"slope", &change.slope},
                         {"slope_divisor", &change.slope_divisor},
                         {"bias", &change.bias},
                         {"bias_divisor", &change.bias_divisor}},
                        step.line);
    } else if (node.name == "input_normalization") {
      change.kind = Modification::Kind::kNormalization;
      read = read_lists(node, {{"mean", &change.mean}, {"std", &change.std}}, step.line);
      if (const auto nodes = node.all("std"); !nodes.empty()) step.std_line = nodes[0]->line;
    } else {
      continue;
    }
    if (!read) return read;
    steps.push_back(std::move(step));
  }
  return {};
}

// The operators that an item is for.
void read_selector(const ConfigNode& item, std::string& name, bool& is_pattern) {
  const ConfigNode* selector = item.find("selector");
  if (selector == nullptr) return;
  name = text_of(*selector, "op_name");
  if (!name.empty()) return;
  name = text_of(*selector, "op_name_regex");
  is_pattern = !name.empty();
}

Result<void> read_operators(const ConfigNode& operators, Config& config) {
  for (const ConfigNode* item : operators.all("input_conf_items")) {
    ConfigArithmetic arithmetic;
    arithmetic.line = item->line;
    read_selector(*item, arithmetic.name, arithmetic.is_pattern);
    for (const ConfigNode* attributes : item->all("attributes")) {
      arithmetic.type = text_of(*attributes, "type");
      for (const ConfigNode* list : attributes->all("input_modifications"))
        if (auto read = read_steps(*list, arithmetic.steps); !read) return read;
    }
    config.arithmetic.push_back(std::move(arithmetic));
  }
  for (const ConfigNode* item : operators.all("operator_conf_items")) {
    ConfigLayer layer;
    layer.line = item->line;
    std::string name;
    read_selector(*item, name, layer.is_pattern);
    if (!name.empty()) layer.names.push_back(name);
    if (const ConfigNode* attributes = item->find("attributes")) {
      layer.data_type = text_of(*attributes, "input_feature_type");
      layer.weight_data_type = text_of(*attributes, "weight_type");
    }
    config.layers.push_back(std::move(layer));
  }
  return {};
}

Result<void> read_samples(const ConfigNode& node, const Config& config,
                          std::vector<ConfigCalibration>& into) {
  ConfigCalibration common;
  common.line = node.line;
  common.method = text_of(node, "observer_method");
  common.strategy = text_of(node, "calibration_strategy");
  if (const ConfigNode* size = node.find("size")) {
    const auto number = size->number();
    if (!number || *number < -1 || *number > 1e9)
      return not_understood(*size, "'size' is not a number of samples", "write a number");
    common.size = static_cast<int64_t>(*number);
    common.size_line = size->line;
  }
  const auto add = [&](const ConfigNode& place, std::string name) {
    const std::string path = text_of(place, "path");
    if (path.empty()) return;
    ConfigCalibration entry = common;
    entry.name = std::move(name);
    entry.path = std::filesystem::path(config.file).parent_path() / path;
    into.push_back(std::move(entry));
  };
  add(node, "");
  for (const ConfigNode* item : node.all("dataset_conf_items")) {
    std::string name;
    bool is_pattern = false;
    read_selector(*item, name, is_pattern);
    add(*item, name);
  }
  if (into.empty()) into.push_back(common);
  return {};
}

// The vendor's guide prints the normalization without what belongs around it, and so it is copied.
// It has no effect there, but its numbers can be looked at.
Result<void> read_misplaced(const ConfigNode& root, Config& config) {
  ConfigArithmetic arithmetic;
  if (auto read = read_steps(root, arithmetic.steps); !read) return read;
  for (const ConfigNode* list : root.all("input_modifications"))
    if (auto read = read_steps(*list, arithmetic.steps); !read) return read;
  if (arithmetic.steps.empty()) return {};
  arithmetic.line = arithmetic.steps.front().line;
  config.misplaced.push_back(std::move(arithmetic));
  return {};
}

// A file of pieces alone, to be pasted into a configuration (the mixed-precision search writes such
// ones), is read as if they stood where they belong.
void place_fragments(ConfigNode& root) {
  const auto home_of = [](std::string_view name) -> std::vector<std::string> {
    if (name == "operator_conf" || name.starts_with("dataset_conf_")) return {"neuwizard_conf"};
    if (name == "input_conf_items" || name == "output_conf_items" || name == "operator_conf_items")
      return {"operator_conf", "neuwizard_conf"};
    return {};
  };
  for (const ConfigNode& field : root.fields)
    if (home_of(field.name).empty()) return;
  for (ConfigNode& field : root.fields)
    for (const std::string& name : home_of(field.name)) {
      ConfigNode outer{name, ConfigNode::Kind::kMessage, {}, {}, field.line};
      outer.fields.push_back(std::move(field));
      field = std::move(outer);
    }
}

}  // namespace

Result<void> fill_from_pulsar(Config& config) {
  place_fragments(config.tree);
  const ConfigNode& root = config.tree;
  // Old releases called them input_tensors and output_tensors: inputs of the one and the other
  // model.
  for (auto read :
       {read_tensors(root, {"src_input_tensors", "input_tensors"}, config.model_inputs),
        read_tensors(root, {"dst_input_tensors", "output_tensors"}, config.runtime_inputs),
        read_tensors(root, {"src_output_tensors"}, config.model_outputs),
        read_tensors(root, {"dst_output_tensors"}, config.runtime_outputs)})
    if (!read) return read;
  for (const ConfigNode* wizard : root.all("neuwizard_conf")) {
    for (const ConfigNode* operators : wizard->all("operator_conf"))
      if (auto read = read_operators(*operators, config); !read) return read;
    if (const ConfigNode* node = wizard->find("dataset_conf_calibration"))
      if (auto read = read_samples(*node, config, config.calibration); !read) return read;
    if (const ConfigNode* node = wizard->find("dataset_conf_error_measurement"))
      if (auto read = read_samples(*node, config, config.measurement); !read) return read;
  }
  return read_misplaced(root, config);
}

std::vector<std::string> pulsar_fields() {
  std::vector<std::string> fields{"input_path",   "output_path",     "input_type",
                                  "output_type",  "target_hardware", "cpu_backend_settings.*",
                                  "pulsar_conf.*"};
  for (const char* tensors : {"src_input_tensors", "src_output_tensors", "dst_input_tensors",
                              "dst_output_tensors", "input_tensors", "output_tensors"})
    for (const char* field : {"tensor_name", "color_space", "data_type", "color_standard",
                              "tensor_layout", "quantization_value"})
      fields.push_back(fmt::format("{}.{}", tensors, field));
  const std::string operators = "neuwizard_conf.operator_conf.";
  for (const char* item : {"input_conf_items", "output_conf_items", "operator_conf_items"})
    for (const char* field : {"selector.op_name", "selector.op_name_regex", "selector.op_type"})
      fields.push_back(operators + item + "." + field);
  for (const char* field : {"slope", "slope_divisor", "bias", "bias_divisor"}) {
    fields.push_back(operators +
                     "input_conf_items.attributes.input_modifications.affine_preprocess." + field);
    fields.push_back(
        operators + "output_conf_items.attributes.output_modifications.affine_preprocess." + field);
  }
  for (const char* field : {"mean", "std"})
    fields.push_back(
        operators + "input_conf_items.attributes.input_modifications.input_normalization." + field);
  fields.push_back(operators + "input_conf_items.attributes.type");
  fields.push_back(operators + "output_conf_items.attributes.type");
  for (const char* field : {"input_feature_type", "weight_type", "lstm_mode"})
    fields.push_back(operators + "operator_conf_items.attributes." + field);
  for (const char* dataset : {"dataset_conf_calibration", "dataset_conf_error_measurement"})
    for (const char* field :
         {"path", "type", "size", "batch_size", "calibration_strategy", "observer_method",
          "dataset_conf_items.path", "dataset_conf_items.selector.op_name",
          "dataset_conf_items.selector.op_name_regex"})
      fields.push_back(fmt::format("neuwizard_conf.{}.{}", dataset, field));
  for (const char* field :
       {"evaluation_conf.path", "evaluation_conf.type", "evaluation_conf.source_ir_types",
        "evaluation_conf.ir_types", "evaluation_conf.score_compare_per_layer",
        "task_conf.task_strategy", "task_conf.supernet_options.strategy",
        "task_conf.supernet_options.mixbit_params.target_w_bit",
        "task_conf.supernet_options.mixbit_params.target_a_bit",
        "task_conf.supernet_options.mixbit_params.w_bit_choices",
        "task_conf.supernet_options.mixbit_params.a_bit_choices",
        "task_conf.supernet_options.mixbit_params.metric_type"})
    fields.push_back(fmt::format("neuwizard_conf.{}", field));
  return fields;
}

}  // namespace plumb::input
