// SPDX-License-Identifier: Apache-2.0
#include "input/config.h"

#include <gmock/gmock.h>

#include "input/expected.h"

namespace plumb::input {
namespace {

std::string config_file(const std::string& name) {
  return std::string(PLUMB_TEST_DATA) + "/pulsar_config/" + name;
}

Config config_in(const std::string& name) {
  auto config = read_config(config_file(name));
  if (config) return *config;
  ADD_FAILURE() << why(config.error());
  return {};
}

bool same_tree(const ConfigNode& a, const ConfigNode& b) {
  return a.name == b.name && a.kind == b.kind && a.value == b.value &&
         std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(), same_tree);
}

const std::vector<double> kMean{0.485, 0.456, 0.406}, kStd{0.229, 0.224, 0.225};

TEST(Config, Pulsar) {
  const Config config = config_in("full.prototxt");
  EXPECT_EQ(config.kind, ConfigKind::kPulsar);
  ASSERT_EQ(config.model_inputs.size(), 1u);
  EXPECT_EQ(config.model_inputs[0].name, "data");
  EXPECT_EQ(config.model_inputs[0].color, ColorSpace::kRgb);
  EXPECT_EQ(config.model_inputs[0].layout, AxisOrder::kNchw);
  EXPECT_EQ(config.model_inputs[0].data_type, "FLOAT32");
  EXPECT_EQ(config.model_inputs[0].line, 8);
  ASSERT_EQ(config.runtime_inputs.size(), 1u);
  EXPECT_EQ(config.runtime_inputs[0].color, ColorSpace::kNv12);
  EXPECT_EQ(config.runtime_inputs[0].yuv.standard, ColorStandard::kFull);
  EXPECT_EQ(config.runtime_outputs.at(0).data_type, "INT16");
  ASSERT_EQ(config.arithmetic.size(), 1u);
  ASSERT_EQ(config.arithmetic[0].steps.size(), 2u);
  EXPECT_EQ(config.arithmetic[0].type, "UINT8");
  EXPECT_EQ(config.arithmetic[0].steps[0].change.slope_divisor, std::vector<double>{255});
  EXPECT_EQ(config.arithmetic[0].steps[0].line, 41);
  EXPECT_EQ(config.arithmetic[0].steps[1].change.mean, kMean);
  EXPECT_EQ(config.arithmetic[0].steps[1].change.std, kStd);
  EXPECT_EQ(config.arithmetic[0].steps[1].line, 49);
  ASSERT_EQ(config.layers.size(), 3u);
  EXPECT_TRUE(config.layers[0].names.empty());
  EXPECT_EQ(config.layers[1].names, std::vector<std::string>{"conv1"});
  EXPECT_EQ(config.layers[1].data_type, "UINT16");
  EXPECT_TRUE(config.layers[2].is_pattern);
  ASSERT_EQ(config.calibration.size(), 2u);
  EXPECT_EQ(config.calibration[0].size, 12);
  EXPECT_EQ(config.calibration[0].path, config_file("calibration.tar"));
  EXPECT_EQ(config.calibration[1].name, "data");
  EXPECT_EQ(config.calibration[0].method, "OBSVR_METHOD_MSE_CLIPPING");
  ASSERT_EQ(config.unknown.size(), 1u);
  EXPECT_EQ(config.unknown[0].path, "a_field_of_tomorrow");
  EXPECT_EQ(config.unknown[0].line, 120);

  const Preprocess how = preprocess_for(config, "data");
  EXPECT_EQ(how.color, ColorSpace::kRgb);
  EXPECT_EQ(how.source_color, ColorSpace::kNv12);
  EXPECT_EQ(how.yuv.standard, ColorStandard::kFull);
  EXPECT_EQ(how.modifications.size(), 2u);
}

TEST(Config, OldNamesAndEntriesWithoutAName) {
  const Config config = config_in("old_names.prototxt");
  EXPECT_EQ(tensor_for(config, config.model_inputs, "data")->color, ColorSpace::kGray);
  EXPECT_EQ(tensor_for(config, config.runtime_inputs, "data")->color, ColorSpace::kNv21);
  // Nothing is said about the standard: Pulsar's default, by which nothing can be converted.
  EXPECT_EQ(preprocess_for(config, "data").yuv.standard, ColorStandard::kLegacy);
}

// lint and run agree what a model is fed that only the colours of the compiled model are told of.
TEST(Config, ColoursOfTheCompiledModelAreTheModelsOwnIfNothingElseIsSaid) {
  const struct {
    const char* text;
    ColorSpace color;
  } cases[] = {
      {"dst_input_tensors { color_space: TENSOR_COLOR_SPACE_RGB }", ColorSpace::kRgb},
      {"dst_input_tensors { color_space: TENSOR_COLOR_SPACE_NV12 }", ColorSpace::kAuto},
      {"src_input_tensors { color_space: TENSOR_COLOR_SPACE_BGR }\n"
       "dst_input_tensors { color_space: TENSOR_COLOR_SPACE_RGB }",
       ColorSpace::kBgr},
      {"src_input_tensors { color_space: TENSOR_COLOR_SPACE_AUTO }\n"
       "dst_input_tensors { color_space: TENSOR_COLOR_SPACE_RGB }",
       ColorSpace::kRgb},
  };
  for (const auto& [text, color] : cases) {
    auto config = parse_config(text, "c");
    ASSERT_TRUE(config) << why(config.error());
    EXPECT_EQ(preprocess_for(*config, "data").color, color) << text;
  }
}

TEST(Config, PiecesOfAConfiguration) {
  auto pieces = parse_config(
      "operator_conf_items {\n  selector { op_name: \"a\" }\n  attributes { weight_type: INT4 "
      "}\n}\n"
      "operator_conf_items { selector { op_name: \"b\" } }",
      "c");
  ASSERT_TRUE(pieces) << why(pieces.error());
  ASSERT_EQ(pieces->layers.size(), 2u);
  EXPECT_EQ(pieces->layers[0].weight_data_type, "INT4");
  EXPECT_EQ(pieces->layers[1].line, 5);
  EXPECT_TRUE(pieces->unknown.empty());
}

TEST(Config, RelaxedJson) {
  auto tree =
      tree_from_json("// a, b\n{ \"a\": [1, 2, ], # c]\n \"b\": \"/* , } # \\\" */\", /* ,} */ }");
  ASSERT_TRUE(tree) << why(tree.error());
  ASSERT_EQ(tree->fields.size(), 3u);
  EXPECT_EQ(tree->fields[1].value, "2");
  EXPECT_EQ(tree->fields[2].value, "/* , } # \" */");
  EXPECT_EQ(tree->fields[2].line, 3);
  for (const char* bad :
       {"{,}", "{\"a\": 1 \"b\": 2}", "{\"a\": [,]}", "{\"a\": \"b}", "/*", "{\"a\"}"})
    EXPECT_FALSE(tree_from_json(bad)) << bad;
}

TEST(Config, Pulsar2) {
  const Config config = config_in("full.json");
  EXPECT_EQ(config.kind, ConfigKind::kPulsar2);
  ASSERT_EQ(config.arithmetic.size(), 2u);
  EXPECT_EQ(config.arithmetic[0].steps.at(0).change.mean,
            (std::vector<double>{103.939, 116.779, 123.68}));
  EXPECT_EQ(config.arithmetic[0].steps[0].line, 12);
  EXPECT_TRUE(config.arithmetic[0].is_image);
  EXPECT_FALSE(config.arithmetic[1].is_image);
  ASSERT_EQ(config.calibration.size(), 2u);
  EXPECT_EQ(config.calibration[0].size, 32);
  EXPECT_EQ(config.calibration[1].name, "");
  EXPECT_EQ(config.calibration[1].size, -1);
  EXPECT_EQ(config.calibration[0].method, "MSE");
  ASSERT_EQ(config.layers.size(), 5u);
  EXPECT_EQ(config.layers[1].names, (std::vector<std::string>{"conv2", "conv3"}));
  EXPECT_EQ(config.layers[1].output_data_type, "FP32");
  EXPECT_EQ(config.layers[3].types, (std::vector<std::string>{"Relu", "Add"}));
  EXPECT_EQ(config.layers[4].starts, std::vector<std::string>{"DEFAULT"});
  EXPECT_EQ(config.layers[0].line, 18);
  EXPECT_EQ(tensor_for(config, config.model_inputs, "data")->color, ColorSpace::kBgr);
  EXPECT_EQ(tensor_for(config, config.model_inputs, "other")->color, ColorSpace::kAuto);
  EXPECT_EQ(preprocess_for(config, "data").yuv.standard, ColorStandard::kStudio);
  const Preprocess other = preprocess_for(config, "other");
  EXPECT_EQ(other.yuv.standard, ColorStandard::kMatrix);
  EXPECT_EQ(other.yuv.matrix[3], -1.082);
  EXPECT_EQ(config.runtime_arithmetic.at(0).steps.size(), 1u);
  ASSERT_EQ(config.not_simulated.size(), 1u);
  EXPECT_EQ(config.not_simulated[0].path, "input_processors.padding");
  ASSERT_EQ(config.unknown.size(), 1u);
  EXPECT_EQ(config.unknown[0].path, "a_field_of_tomorrow");
}

TEST(Config, OurOwnForm) {
  const Config config = config_in("plain.json");
  EXPECT_EQ(config.kind, ConfigKind::kPlain);
  const Preprocess how = preprocess_for(config, "data");
  EXPECT_EQ(how.color, ColorSpace::kRgb);
  EXPECT_EQ(how.source_color, ColorSpace::kNv12);
  EXPECT_EQ(how.yuv.standard, ColorStandard::kFull);
  EXPECT_EQ(how.layout, AxisOrder::kNchw);
  EXPECT_EQ(how.resize.short_side, 256);
  EXPECT_EQ(how.crop, (Size{224, 224}));
  EXPECT_EQ(how.interpolation, Interpolation::kCubic);
  ASSERT_EQ(how.modifications.size(), 2u);
  EXPECT_EQ(how.modifications[0].slope, std::vector<double>{1.0 / 255});
  EXPECT_EQ(how.modifications[1].mean, kMean);
  EXPECT_TRUE(config.unknown.empty());
}

// What is read and written is the same, also where nobody knows what it means.
TEST(Config, TextRoundTrip) {
  for (const char* name : {"full.prototxt", "old_names.prototxt"}) {
    const Config config = config_in(name);
    auto again = tree_from_prototxt(to_prototxt(config.tree));
    ASSERT_TRUE(again) << why(again.error());
    EXPECT_TRUE(same_tree(config.tree, *again)) << name;
  }
  auto odd = tree_from_prototxt(R"(a: "quo\"te\\ \n\001" 'more' b: -1.5e-3 c { } d <e: [1, 2] >)");
  ASSERT_TRUE(odd) << why(odd.error());
  EXPECT_EQ(odd->fields[0].value, "quo\"te\\ \n\001more");
  auto again = tree_from_prototxt(to_prototxt(*odd));
  ASSERT_TRUE(again) << why(again.error());
  EXPECT_TRUE(same_tree(*odd, *again));
}

// Every word that the manual has for a field: known, and the same after it was written.
TEST(Config, EveryWordOfTheManual) {
  const std::string tensor = "_tensors { tensor_name: 'data' ";
  const std::string item =
      "neuwizard_conf { operator_conf { operator_conf_items { selector { "
      "op_name_regex: '.*' } attributes { ";
  const std::string set = "neuwizard_conf { dataset_conf_calibration { path: 'a.tar' ";
  const std::string mix =
      "neuwizard_conf { task_conf { task_strategy: TASK_STRATEGY_SUPERNET "
      "supernet_options { strategy: SUPERNET_STRATEGY_MIXBIT mixbit_params { ";
  const struct {
    std::string before, field;
    std::vector<std::string> words;
    std::string after;
  } fields[] = {
      {"", "input_type", {"INPUT_TYPE_ONNX", "INPUT_TYPE_AUTO"}, ""},
      {"", "output_type", {"OUTPUT_TYPE_JOINT", "OUTPUT_TYPE_SUPERNET"}, ""},
      {"", "target_hardware", {"TARGET_HARDWARE_AX630", "TARGET_HARDWARE_AX620"}, ""},
      {"src_input" + tensor,
       "color_space",
       {"TENSOR_COLOR_SPACE_AUTO", "TENSOR_COLOR_SPACE_BGR", "TENSOR_COLOR_SPACE_RGB",
        "TENSOR_COLOR_SPACE_GRAY", "TENSOR_COLOR_SPACE_NV12", "TENSOR_COLOR_SPACE_NV21",
        "TENSOR_COLOR_SPACE_BGR0"},
       "}"},
      {"dst_output" + tensor,
       "data_type",
       {"INT2", "INT4", "INT8", "INT16", "UINT2", "UINT4", "UINT8", "UINT16", "MINT2", "MINT4",
        "MINT8", "FLOAT32", "DATA_TYPE_UNKNOWN"},
       "}"},
      {"dst_input" + tensor,
       "color_standard",
       {"CSC_LEGACY", "CSS_ITU_BT601_STUDIO_SWING", "CSS_ITU_BT601_FULL_SWING"},
       "}"},
      {"src_output" + tensor, "tensor_layout", {"NHWC", "NCHW", "NATIVE"}, "}"},
      {"dst_output" + tensor, "quantization_value", {"1", "256"}, "}"},
      {item, "input_feature_type", {"UINT4", "UINT8", "UINT16"}, "} } } }"},
      {item, "weight_type", {"INT4", "INT8"}, "} } } }"},
      {item, "lstm_mode", {"LSTM_MODE_CPU"}, "} } } }"},
      {set, "type", {"DATASET_TYPE_TAR"}, "} }"},
      {set,
       "calibration_strategy",
       {"CALIB_STRATEGY_PER_TENSOR", "CALIB_STRATEGY_PER_CHANNEL"},
       "} }"},
      {set, "observer_method", {"OBSVR_METHOD_MIN_MAX", "OBSVR_METHOD_MSE_CLIPPING"}, "} }"},
      {mix,
       "metric_type",
       {"MIXBIT_METRIC_TYPE_MSE", "MIXBIT_METRIC_TYPE_COS_SIM", "MIXBIT_METRIC_TYPE_HAWQv2"},
       "} } } }"},
      {mix, "target_w_bit", {"6.5", "8"}, "} } } }"},
  };
  for (const auto& [before, field, words, after] : fields)
    for (const std::string& word : words) {
      const std::string text =
          before + field + ": " + word + " # a remark\nunheard_of { of: 1 } " + after;
      auto config = parse_config(text, "c");
      ASSERT_TRUE(config) << text << ": " << why(config.error());
      ASSERT_EQ(config->unknown.size(), 1u) << text;
      EXPECT_THAT(config->unknown[0].path, testing::EndsWith("unheard_of")) << text;
      const std::string written = to_prototxt(config->tree);
      EXPECT_THAT(written, testing::HasSubstr(field + ": " + word)) << text;
      EXPECT_THAT(written, testing::HasSubstr("unheard_of")) << text;
      auto again = tree_from_prototxt(written);
      ASSERT_TRUE(again) << why(again.error());
      EXPECT_TRUE(same_tree(config->tree, *again)) << text;
    }
}

TEST(Config, Refuses) {
  const struct {
    std::string text, what, where;
  } cases[] = {
      {"", "the configuration is empty", "c, line 1"},
      {"{}", "the configuration is empty", "c, line 1"},
      {"{\"layers\": 3}", "not a configuration of a known kind", "c, line 1: field 'layers'"},
      {"layer { name: \"x\" }", "not a configuration of a known kind", "c, line 1: field 'layer'"},
      {"src_input_tensors {\n  color_space: PINK\n}", "unknown colour space",
       "c, line 2: color_space: PINK"},
      {"src_input_tensors {\n", "the configuration is not valid protobuf text",
       "c, line 2, column 1: the file ends inside the message opened in line 1, column 19"},
      {"{\n\"quant\": {\n,}}", "the configuration is not valid JSON", ""},
      {"[1]", "the configuration is not valid JSON",
       "c, line 1: an object was expected, not a list"},
      {"{\"quant\": {\"input_configs\": [{\"calibration_mean\": [\"a\"]}]}}",
       "'calibration_mean' is not a number", "c, line 1: calibration_mean: a"},
      {"{\"inputs\": [{\"resize\": \"strech\"}]}", "'resize' is not understood",
       "c, line 1: resize: strech"},
      {"{\"input_processors\": [{\"csc_mode\": \"Matrix\", \"csc_mat\": [1]}]}",
       "csc_mat has 1 numbers", "c, line 1: csc_mode: Matrix"},
  };
  for (const auto& c : cases) {
    auto config = parse_config(c.text, "c");
    ASSERT_FALSE(config) << c.text;
    EXPECT_EQ(config.error().what, c.what) << c.text;
    if (!c.where.empty()) {
      EXPECT_EQ(config.error().where, c.where) << c.text;
    }
    EXPECT_FALSE(config.error().remedy.empty()) << c.text;
  }
}

TEST(Config, NestingIsBounded) {
  std::string text, json;
  for (int i = 0; i < 1000; ++i) text += "a {", json += "{\"a\":";
  EXPECT_FALSE(parse_config(text, "c"));
  EXPECT_FALSE(parse_config(json, "c"));
  EXPECT_FALSE(parse_config(std::string(kMaxConfigBytes + 1, ' '), "c"));
  EXPECT_FALSE(parse_config("{\"a\":" + std::string(100000, '['), "c"));
}

TEST(Config, SimpleExpressions) {
  const struct {
    const char *expression, *name;
    std::optional<bool> matches;
  } cases[] = {
      {"conv1", "conv1", true},
      {"conv1", "conv10", false},
      {"conv.", "conv1", true},
      {"conv.*", "conv", true},
      {"conv.*", "conv10", true},
      {".*/Add", "a/b/Add", true},
      {"^a$", "a", true},
      {"a\\.b", "a.b", true},
      {"a\\.b", "axb", false},
      {"a*b", "aaab", true},
      {"a*b", "b", true},
      {"", "", true},
      {"", "x", false},
      {"(a|b)", "a", std::nullopt},
      {"a+", "a", std::nullopt},
      {"\\d", "1", std::nullopt},
      {"[ab]", "a", std::nullopt},
      {"a\\", "a", std::nullopt},
      {"conv.*1", "conv21", true},
      {".*.*.*.*x", "aaaa", false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(simple_regex_matches(c.expression, c.name), c.matches) << c.expression;
}

}  // namespace
}  // namespace plumb::input
