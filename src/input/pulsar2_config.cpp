// SPDX-License-Identifier: Apache-2.0
//
// pulsar2's build configuration, JSON with comments or text. Described in the vendor's public
// guide, chapter on the configuration file.
#include <fmt/format.h>

#include "input/config.h"

namespace plumb::input {
namespace {

// "DEFAULT" is for all that have no entry of their own.
std::string name_in(const ConfigNode& node) {
  std::string name = text_of(node, "tensor_name");
  return name == "DEFAULT" ? "" : name;
}

Result<std::optional<ColorSpace>> color_in(const ConfigNode& node, std::string_view field) {
  const ConfigNode* word = node.find(field);
  if (word == nullptr || word->value == "RAW") return std::optional<ColorSpace>();
  constexpr std::pair<std::string_view, ColorSpace> kWords[] = {
      {"AutoColorSpace", ColorSpace::kAuto},
      {"BGR", ColorSpace::kBgr},
      {"RGB", ColorSpace::kRgb},
      {"GRAY", ColorSpace::kGray},
      {"YUYV422", ColorSpace::kYuyv},
      {"UYVY422", ColorSpace::kUyvy},
      {"YUV420SP", ColorSpace::kNv12},
      {"YVU420SP", ColorSpace::kNv21},
  };
  for (const auto& [known, space] : kWords)
    if (word->value == known) return std::optional(space);
  return not_understood(*word, "unknown colour space",
                        "AutoColorSpace, BGR, RGB, GRAY, YUYV422, UYVY422, YUV420SP or YVU420SP");
}

Result<AxisOrder> layout_in_field(const ConfigNode& node, std::string_view field) {
  const ConfigNode* word = node.find(field);
  if (word == nullptr) return AxisOrder::kNative;
  if (word->value == "NHWC") return AxisOrder::kNhwc;
  if (word->value == "NCHW") return AxisOrder::kNchw;
  if (word->value == "NativeLayout") return AxisOrder::kNative;
  return not_understood(*word, "unknown layout", "use NHWC or NCHW");
}

Result<YuvRule> yuv_in(const ConfigNode& node) {
  YuvRule rule;
  const ConfigNode* mode = node.find("csc_mode");
  if (mode == nullptr || mode->value == "NoCSC") return rule;
  if (mode->value == "FullRange") {
    rule.standard = ColorStandard::kFull;
  } else if (mode->value == "LimitedRange") {
    rule.standard = ColorStandard::kStudio;
  } else if (mode->value == "Matrix") {
    auto matrix = numbers_of(node, "csc_mat");
    if (!matrix) return matrix.error();
    if (matrix->size() != 12)
      return not_understood(*mode, fmt::format("csc_mat has {} numbers", matrix->size()),
                            "write three rows of four");
    rule.standard = ColorStandard::kMatrix;
    std::copy(matrix->begin(), matrix->end(), rule.matrix.begin());
  } else {
    return not_understood(*mode, "unknown way to convert colours",
                          "use FullRange, LimitedRange, Matrix or NoCSC");
  }
  return rule;
}

// A normalization, if there is anything in these two lists.
Result<void> read_normalization(const ConfigNode& node, std::string_view mean, std::string_view std,
                                ConfigArithmetic& into) {
  ConfigStep step{{}, node.line, 0};
  step.change.kind = Modification::Kind::kNormalization;
  for (const auto& [field, list] : {std::pair{mean, &step.change.mean}, {std, &step.change.std}}) {
    auto numbers = numbers_of(node, field);
    if (!numbers) return numbers.error();
    *list = std::move(*numbers);
    if (const auto nodes = node.all(field); !nodes.empty() && step.line == node.line)
      step.line = nodes.front()->line;
  }
  if (const auto nodes = node.all(std); !nodes.empty()) step.std_line = nodes[0]->line;
  if (!step.change.mean.empty() || !step.change.std.empty()) into.steps.push_back(std::move(step));
  return {};
}

Result<void> read_input(const ConfigNode& node, Config& config) {
  ConfigCalibration calibration;
  calibration.name = name_in(node);
  calibration.line = node.line;
  calibration.size = 32;
  if (const std::string path = text_of(node, "calibration_dataset"); !path.empty())
    calibration.path = std::filesystem::path(config.file).parent_path() / path;
  if (const ConfigNode* size = node.find("calibration_size")) {
    const auto number = size->number();
    if (!number || *number < -1 || *number > 1e9)
      return not_understood(*size, "'calibration_size' is not a number of samples",
                            "write a number, -1 for all");
    calibration.size = static_cast<int64_t>(*number);
    calibration.size_line = size->line;
  }
  config.calibration.push_back(std::move(calibration));

  ConfigArithmetic arithmetic;
  arithmetic.name = name_in(node);
  arithmetic.line = node.line;
  const std::string format = text_of(node, "calibration_format");
  arithmetic.is_image = format.empty() || format == "Image";
  if (auto read = read_normalization(node, "calibration_mean", "calibration_std", arithmetic);
      !read)
    return read;
  config.arithmetic.push_back(std::move(arithmetic));
  return {};
}

Result<void> read_processor(const ConfigNode& node, Config& config) {
  ConfigTensor model, runtime;
  model.name = runtime.name = name_in(node);
  model.line = runtime.line = node.line;
  const auto set = [](auto& place, auto result) -> Result<void> {
    if (!result) return result.error();
    place = *result;
    return {};
  };
  for (auto read :
       {set(model.color, color_in(node, "tensor_format")),
        set(model.layout, layout_in_field(node, "tensor_layout")),
        set(runtime.color, color_in(node, "src_format")),
        set(runtime.layout, layout_in_field(node, "src_layout")), set(runtime.yuv, yuv_in(node))})
    if (!read) return read;
  runtime.data_type = text_of(node, "src_dtype");
  for (const char* field : {"padding", "slicing"})
    if (const ConfigNode* used = node.find(field))
      config.not_simulated.push_back({fmt::format("input_processors.{}", field), used->line, ""});
  ConfigArithmetic arithmetic;
  arithmetic.name = model.name;
  arithmetic.line = node.line;
  if (auto read = read_normalization(node, "mean", "std", arithmetic); !read) return read;
  config.model_inputs.push_back(std::move(model));
  config.runtime_inputs.push_back(std::move(runtime));
  config.runtime_arithmetic.push_back(std::move(arithmetic));
  return {};
}

ConfigLayer read_layer(const ConfigNode& node) {
  ConfigLayer layer;
  layer.line = node.line;
  layer.names = texts_of(node, "layer_name");
  for (std::string& name : texts_of(node, "layer_names")) layer.names.push_back(std::move(name));
  layer.types = texts_of(node, "op_type");
  for (std::string& type : texts_of(node, "op_types")) layer.types.push_back(std::move(type));
  layer.starts = texts_of(node, "start_tensor_names");
  layer.ends = texts_of(node, "end_tensor_names");
  layer.data_type = text_of(node, "data_type");
  layer.output_data_type = text_of(node, "output_data_type");
  layer.weight_data_type = text_of(node, "weight_data_type");
  return layer;
}

}  // namespace

Result<void> fill_from_pulsar2(Config& config) {
  const ConfigNode& root = config.tree;
  if (const ConfigNode* quant = root.find("quant")) {
    for (const ConfigNode* node : quant->all("input_configs"))
      if (auto read = read_input(*node, config); !read) return read;
    for (const ConfigNode* node : quant->all("layer_configs"))
      config.layers.push_back(read_layer(*node));
    for (ConfigCalibration& calibration : config.calibration)
      calibration.method = text_of(*quant, "calibration_method");
  }
  for (const ConfigNode* node : root.all("input_processors"))
    if (auto read = read_processor(*node, config); !read) return read;
  for (const ConfigNode* node : root.all("output_processors")) {
    ConfigTensor tensor;
    tensor.name = name_in(*node);
    tensor.line = node->line;
    tensor.data_type = text_of(*node, "output_dtype");
    config.runtime_outputs.push_back(std::move(tensor));
  }
  return {};
}

std::vector<std::string> pulsar2_fields() {
  std::vector<std::string> fields{"input",
                                  "output_dir",
                                  "output_name",
                                  "work_dir",
                                  "model_type",
                                  "target_hardware",
                                  "npu_mode",
                                  "input_shapes",
                                  "onnx_opt.*",
                                  "const_processors.*",
                                  "quant_op_processors.*",
                                  "compiler.*"};
  for (const char* field : {"tensor_name", "calibration_dataset", "calibration_format",
                            "calibration_size", "calibration_mean", "calibration_std"})
    fields.push_back(fmt::format("quant.input_configs.{}", field));
  for (const char* field :
       {"layer_name", "layer_names", "op_type", "op_types", "start_tensor_names",
        "end_tensor_names", "data_type", "output_data_type", "weight_data_type"})
    fields.push_back(fmt::format("quant.layer_configs.{}", field));
  for (const char* field : {"calibration_method",
                            "precision_analysis",
                            "precision_analysis_method",
                            "precision_analysis_mode",
                            "input_sample_dir",
                            "highest_mix_precision",
                            "conv_bias_data_type",
                            "ln_scale_data_type",
                            "refine_weight_threshold",
                            "enable_smooth_quant",
                            "smooth_quant_threshold",
                            "smooth_quant_strength",
                            "transformer_opt_level",
                            "check",
                            "disable_auto_refine_scale",
                            "enable_easy_quant",
                            "disable_quant_optimization",
                            "enable_brecq",
                            "enable_lsq",
                            "enable_adaround",
                            "finetune_epochs",
                            "finetune_block_size",
                            "finetune_batch_size",
                            "finetune_lr",
                            "device"})
    fields.push_back(fmt::format("quant.{}", field));
  for (const char* field :
       {"tensor_name", "tensor_format", "tensor_layout", "src_format", "src_layout", "src_dtype",
        "src_extra_shapes", "csc_mode", "csc_mat", "mean", "std", "padding", "padding_mode",
        "padding_constant_value", "slicing"})
    fields.push_back(fmt::format("input_processors.{}", field));
  for (const char* field : {"tensor_name", "dst_perm", "output_dtype"})
    fields.push_back(fmt::format("output_processors.{}", field));
  return fields;
}

}  // namespace plumb::input
