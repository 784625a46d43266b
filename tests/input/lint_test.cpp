// SPDX-License-Identifier: Apache-2.0
#include "input/lint.h"

#include <gmock/gmock.h>

#include "graph/importers.h"
#include "input/expected.h"

namespace plumb::input {
namespace {

using testing::ElementsAre;

Config config_of(const std::string& text) {
  auto config = parse_config(text, std::string(PLUMB_TEST_DATA) + "/archive/c");
  if (config) return *config;
  ADD_FAILURE() << why(config.error());
  return {};
}

graph::Graph odd_model() {
  auto graph = graph::load_graph(std::string(PLUMB_TEST_DATA) + "/graph/odd.onnx");
  if (graph) return *graph;
  ADD_FAILURE() << why(graph.error());
  return {};
}

// "L02:7" for each finding, and "L09?" for each rule that could not be checked, L12 aside.
std::vector<std::string> found(const LintInput& input) {
  std::vector<std::string> words;
  const LintReport report = lint(input);
  for (const LintFinding& finding : report.findings) {
    words.push_back(std::string(finding.rule) + ":" + std::to_string(finding.line));
    EXPECT_FALSE(finding.what.empty());
    EXPECT_FALSE(finding.evidence.empty());
    EXPECT_FALSE(finding.fix.empty());
  }
  for (const NotChecked& left : report.not_checked)
    if (left.rule != "L12") words.push_back(std::string(left.rule) + "?");
  return words;
}

std::vector<std::string> found_in(const std::string& text, const graph::Graph* model = nullptr) {
  const Config config = config_of(text);
  LintInput input;
  input.config = &config;
  input.model = model;
  auto words = found(input);
  // Float inputs have a test of their own.
  std::erase_if(words, [](const std::string& word) { return word.starts_with("L13"); });
  return words;
}

// A Pulsar configuration with these colours and steps; the steps start in line 3.
std::string pulsar(const std::string& color, const std::string& steps) {
  return "src_input_tensors { color_space: TENSOR_COLOR_SPACE_" + color +
         " }\nneuwizard_conf { operator_conf { input_conf_items { attributes {\n" + steps +
         "\n} } } }";
}
std::string affine(const std::string& numbers) {
  return "input_modifications { affine_preprocess { " + numbers + " } }\n";
}
std::string normalization(const std::string& mean, const std::string& std) {
  return "input_modifications { input_normalization { mean: [" + mean + "] std: [" + std +
         "] } }\n";
}
std::string pulsar2(const std::string& input, const std::string& processor,
                    const std::string& layers = "") {
  return "{\"quant\": {\"input_configs\": [{\"tensor_name\": \"DEFAULT\"" + input +
         "}], \"layer_configs\": [" + layers +
         "]},\n\"input_processors\": [{\"tensor_name\": " + "\"DEFAULT\"" + processor + "}]}";
}

const std::string kDivide = affine("slope: 1 slope_divisor: 255");

struct Case {
  const char* name;
  std::string text;
  std::vector<std::string> found;
};

class Lint : public testing::TestWithParam<Case> {};

TEST_P(Lint, Finds) { EXPECT_EQ(found_in(GetParam().text), GetParam().found); }

INSTANTIATE_TEST_SUITE_P(
    Rules, Lint,
    testing::Values(
        // L01
        Case{"TwoMeans", pulsar("BGR", normalization("104, 117", "1")), {"L01:3"}},
        Case{"ZeroStd", pulsar("BGR", normalization("104", "1, 0, 1")), {"L01:3"}},
        Case{"GrayWithThree", pulsar("GRAY", normalization("104, 117, 123", "1")), {"L01:3"}},
        Case{"ListsDisagree", pulsar("AUTO", normalization("1, 2, 3, 4", "50, 50, 50")), {"L01:3"}},
        Case{"OneForAll", pulsar("RGB", normalization("127.5", "127.5")), {}},
        // L02
        Case{"RgbMeansWithAuto",
             pulsar("AUTO", kDivide + normalization("0.485, 0.456, 0.406", "0.229, 0.224, 0.225")),
             {"L02:4"}},
        Case{"RgbMeansOf255WithBgr",
             pulsar("BGR", normalization("123.675, 116.28, 103.53", "58")),
             {"L02:3"}},
        Case{"BgrMeansWithRgb",
             pulsar("RGB", normalization("103.939, 116.779, 123.68", "1")),
             {"L02:3"}},
        Case{"BgrMeansWithBgr", pulsar("BGR", normalization("103.939, 116.779, 123.68", "1")), {}},
        Case{"RgbMeansWithRgb",
             pulsar("RGB", kDivide + normalization("0.485, 0.456, 0.406", "0.229, 0.224, 0.225")),
             {}},
        Case{"BgrMeansWithRgbStd",
             pulsar("BGR", kDivide + normalization("0.406, 0.456, 0.485", "0.229, 0.224, 0.225")),
             {"L02:4"}},
        Case{"StdInTheOtherOrder",
             pulsar("RGB", kDivide + normalization("0.5", "0.225, 0.224, 0.229")),
             {"L02:4"}},
        Case{"AllBgr",
             pulsar("BGR", kDivide + normalization("0.406, 0.456, 0.485", "0.225, 0.224, 0.229")),
             {}},
        Case{"AllBgrOf255",
             pulsar("BGR", normalization("103.53, 116.28, 123.675", "57.375, 57.12, 58.395")),
             {}},
        // L03
        Case{"StdSlip",
             pulsar("RGB", kDivide + normalization("0.485, 0.456, 0.406", "0.229, 0.224, 0.255")),
             {"L03:4"}},
        // L04
        Case{"SmallMeanOnBytes",
             pulsar("RGB", normalization("0.485, 0.456, 0.406", "0.229, 0.224, 0.225")),
             {"L04:3"}},
        Case{"LargeMeanOnFractions",
             pulsar("RGB", kDivide + normalization("127.5", "127.5")),
             {"L04:4"}},
        Case{"NoMean", pulsar("RGB", normalization("0", "255")), {}},
        Case{"FloatDataMayHaveAnyRange",
             pulsar("RGB", "type: FLOAT32\n" + normalization("0.5", "0.5")),
             {}},
        // L05
        Case{"Multiplies", pulsar("RGB", affine("slope: 255")), {"L05:3"}},
        Case{"DividesByAFraction", pulsar("RGB", affine("slope_divisor: 0.00392")), {"L05:3"}},
        Case{"Divides", pulsar("RGB", kDivide), {}},
        // L06, L07
        Case{"NoSwap", pulsar2("", R"(, "tensor_format": "RGB", "src_format": "BGR")"), {"L06:2"}},
        Case{"SameColours", pulsar2("", R"(, "tensor_format": "RGB", "src_format": "RGB")"), {}},
        Case{"Embedded", pulsar2(R"(, "calibration_mean": [104])", ""), {"L07:1"}},
        Case{"NotEmbedded", pulsar2(R"(, "calibration_mean": [104])", R"(, "mean": [0])"), {}},
        Case{"SmallMeanInPulsar2",
             pulsar2(R"(, "calibration_mean": [0.5])", R"(, "mean": [0])"),
             {"L04:1"}},
        Case{"NumpyIsFedAsItIs",
             pulsar2(R"(, "calibration_format": "Numpy", "calibration_mean": [0.5])",
                     R"(, "mean": [0])"),
             {}},
        // L08
        Case{"Few", pulsar2(R"(, "calibration_size": 4)", ""), {"L08:1"}},
        Case{"MoreThanThereAre",
             pulsar2(R"(, "calibration_size": 20, "calibration_dataset": "set.tar.gz")", ""),
             {"L08:1", "L08:1"}},  // and two are the same
        Case{"NoArchive", pulsar2(R"(, "calibration_dataset": "none.tar")", ""), {"L08?"}},
        Case{"NotAnArchive",
             pulsar2(R"(, "calibration_dataset": "make_archives.py")", ""),
             {"L08:1"}},
        // L09, L10 without a model
        Case{
            "NeedsAModel", pulsar2("", "", R"({"layer_name": "c", "data_type": "U16"})"), {"L09?"}},
        Case{"FloatMaxPool",
             pulsar2("", "", R"({"op_type": "MaxPool", "data_type": "FP32"})"),
             {"L10:1", "L09?"}},
        Case{"FloatSoftmax",
             pulsar2("", "", R"({"op_type": "Softmax", "data_type": "FP32"})"),
             {"L09?"}},
        Case{"FloatLayer",
             pulsar2("", "", R"({"layer_name": "c", "data_type": "FP32"})"),
             {"L09?", "L10?"}},
        // L11
        Case{"Nv12", "dst_input_tensors { color_space: TENSOR_COLOR_SPACE_NV12 }", {"L11:1"}},
        Case{"Nv12WithStandard",
             "dst_input_tensors { color_space: TENSOR_COLOR_SPACE_NV12 "
             "color_standard: CSS_ITU_BT601_FULL_SWING }",
             {}},
        Case{"Yuv420sp", pulsar2("", R"(, "src_format": "YUV420SP")"), {"L11:2"}},
        Case{"Yuv420spWithMode",
             pulsar2("", R"(, "src_format": "YUV420SP", "csc_mode": "FullRange")"),
             {}}),
    [](const testing::TestParamInfo<Case>& c) { return std::string(c.param.name); });

// In the order of the file, whichever that is.
TEST(LintMessages, QuoteTheStdAsItIsWritten) {
  const auto evidence = [](const std::string& color, const std::string& mean,
                           const std::string& std) {
    const Config config = config_of(pulsar(color, kDivide + normalization(mean, std)));
    LintInput input;
    input.config = &config;
    std::string text;
    for (const LintFinding& finding : lint(input).findings)
      if (finding.rule == "L02" || finding.rule == "L03") text += finding.evidence;
    return text;
  };
  EXPECT_EQ(evidence("RGB", "0.485, 0.456, 0.406", "0.229, 0.224, 0.255"),
            "std 0.229, 0.224, 0.255; ImageNet's is 0.229, 0.224, 0.225");
  EXPECT_EQ(evidence("BGR", "0.406, 0.456, 0.485", "0.255, 0.224, 0.229"),
            "std 0.255, 0.224, 0.229; ImageNet's is 0.225, 0.224, 0.229");
  EXPECT_EQ(evidence("BGR", "0.406, 0.456, 0.485", "0.229, 0.224, 0.225"),
            "std 0.229, 0.224, 0.225 is ImageNet's in the order R, G, B; the colours are BGR, and "
            "the mean is in their order");
}

TEST(LintModel, LayersThatAreNotThere) {
  const graph::Graph model = odd_model();
  EXPECT_THAT(
      found_in(pulsar2("", "", R"({"layer_names": ["c", "clop"], "data_type": "U16"})"), &model),
      ElementsAre("L09:1"));
  EXPECT_THAT(found_in(pulsar2("", "", R"({"op_type": "Gemm", "data_type": "U16"})"), &model),
              ElementsAre("L09:1"));
  EXPECT_THAT(found_in(pulsar2("", "", R"({"start_tensor_names": ["left"],
                                           "end_tensor_names": ["DEFAULT"]})"),
                       &model),
              ElementsAre());
  const auto by_pattern = [&](const std::string& expression) {
    return found_in(
        "neuwizard_conf { operator_conf { operator_conf_items { selector { "
        "op_name_regex: \"" +
            expression + "\" } } } }",
        &model);
  };
  EXPECT_THAT(by_pattern("quant.*"), ElementsAre());
  EXPECT_THAT(by_pattern("conv.*"), ElementsAre("L09:1"));
  EXPECT_THAT(by_pattern("(a|b)"), ElementsAre("L09?"));
  const Config config = config_of(pulsar2("", "", R"({"layer_name": "clop"})"));
  LintInput input;
  input.config = &config;
  input.model = &model;
  EXPECT_EQ(lint(input).findings.at(0).fix,
            "did you mean 'clip'? use names of the optimised graph");
}

TEST(LintModel, FloatLayersByType) {
  const graph::Graph model = odd_model();
  EXPECT_THAT(found_in(pulsar2("", "", R"({"layer_name": "c", "data_type": "FP32"})"), &model),
              ElementsAre("L10:1"));  // a Conv
  EXPECT_THAT(found_in(pulsar2("", "", R"({"layer_name": "mix", "data_type": "FP32"})"), &model),
              ElementsAre());  // a Concat
}

TEST(LintModel, ChannelsAndTypesOfItsInputs) {
  const graph::Graph model = odd_model();  // x is float32 [1, 3, -1, -1]
  const Config config = config_of(
      "neuwizard_conf { operator_conf { input_conf_items {\nselector { op_name: \"x\" }\n"
      "attributes { input_modifications { input_normalization { mean: [1, 2, 3, 4] } } } } } }");
  LintInput input;
  input.config = &config;
  input.model = &model;
  EXPECT_THAT(found(input), ElementsAre("L01:3", "L13:1", "L13:0"));
}

TEST(LintOther, SaysWhatDiffers) {
  const Config build = config_of(
      "src_input_tensors { color_space: TENSOR_COLOR_SPACE_RGB }\n"
      "neuwizard_conf { operator_conf { input_conf_items { attributes {\n" +
      normalization("1, 2, 3", "4") + "} } } }");
  // Expanded: names, defaults, the same number three times.
  const Config expanded = config_of(
      "src_input_tensors { tensor_name: \"data\" color_space: TENSOR_COLOR_SPACE_RGB\n"
      "data_type: UINT8 tensor_layout: NATIVE }\n"
      "neuwizard_conf { operator_conf { input_conf_items { selector { op_name: \"data\" } "
      "attributes {\n" +
      affine("slope: 1 slope_divisor: 1 bias: 0") + normalization("1, 2, 3", "4, 4, 4") +
      "} } } }");
  LintInput input;
  input.config = &expanded;
  input.other = &build;
  const auto rules = [&] {
    std::vector<std::string> keys;
    for (const LintFinding& finding : lint(input).findings)
      if (finding.rule == "L12") keys.push_back(finding.what);
    return keys;
  };
  EXPECT_THAT(rules(), ElementsAre());
  const Config changed = config_of(
      "src_input_tensors { color_space: TENSOR_COLOR_SPACE_BGR }\n"
      "neuwizard_conf { operator_conf { input_conf_items { attributes {\n" +
      normalization("1, 2, 3", "5") + "} } } }");
  input.other = &changed;
  EXPECT_THAT(rules(), ElementsAre("the arithmetic of input 'data' differs",
                                   "the model's colour space of input 'data' differs"));
  EXPECT_NE(
      lint(input).findings.at(0).evidence.find("mean 1, 2, 3 std 4 here, mean 1, 2, 3 std 5 in"),
      std::string::npos)
      << lint(input).findings.at(0).evidence;
}

TEST(LintTolerance, LargerThanTheSignal) {
  auto signals = read_signals(data_file("values.npy"));  // 0 to 1.25
  ASSERT_TRUE(signals) << why(signals.error());
  ASSERT_EQ(signals->size(), 1u);
  EXPECT_EQ((*signals)[0].largest, 1.25);
  Tolerance tolerance;
  tolerance.golden = *signals;
  tolerance.has_golden = true;
  LintInput input;
  input.tolerance = &tolerance;
  tolerance.absolute = 100000;
  tolerance.relative = 1e-6;
  EXPECT_THAT(found(input), ElementsAre("L14:0"));
  tolerance.absolute = 0.01;
  EXPECT_THAT(found(input), ElementsAre());
  tolerance.relative = 1;
  EXPECT_THAT(found(input), ElementsAre("L14:0"));
  tolerance = {0.01, {}, {}, false};
  EXPECT_THAT(found(input), ElementsAre("L14?"));
  EXPECT_FALSE(read_signals(data_file("make_input.py")));
}

TEST(ChannelDoubt, InWords) {
  Preprocess how;
  how.modifications.resize(1);
  how.modifications[0].kind = Modification::Kind::kNormalization;
  how.modifications[0].mean = {0.485, 0.456, 0.406};
  EXPECT_EQ(
      channel_doubt(how),
      "mean 0.485, 0.456, 0.406 is ImageNet's in the order R, G, B, but the model is fed BGR; "
      "--input-color RGB would fit");
  how.color = ColorSpace::kRgb;
  EXPECT_EQ(channel_doubt(how), std::nullopt);
  how.color = ColorSpace::kGray;
  EXPECT_EQ(channel_doubt(how), std::nullopt);
  how.color = ColorSpace::kBgr;
  how.modifications[0].mean = {104, 117, 123};
  EXPECT_EQ(channel_doubt(how), std::nullopt);
}

TEST(LintFiles, WithoutAConfigurationOnlyTheToleranceIsLookedAt) {
  LintRequest request;
  request.rtol = "2";
  auto linted = lint(request);
  ASSERT_TRUE(linted);
  EXPECT_FALSE(linted->config);
  EXPECT_EQ(linted->report.count(Severity::kWarning), 1u);
  EXPECT_EQ(linted->report.count(Severity::kError), 0u);
  EXPECT_THAT(to_json(*linted), testing::HasSubstr("\"config\": null"));
}

TEST(LintFiles, SaysWhatCannotBeRead) {
  LintRequest request;
  request.rtol = "a little";
  auto linted = lint(request);
  ASSERT_FALSE(linted);
  EXPECT_EQ(linted.error().where, "--rtol a little");
  request.config = "/nowhere/config.prototxt";  // comes first
  linted = lint(request);
  ASSERT_FALSE(linted);
  EXPECT_THAT(linted.error().where, testing::StartsWith("/nowhere/config.prototxt"));
}

// A field that has no effect is an error, with what was meant.
TEST(LintFields, MisspeltAndMisplaced) {
  const Case cases[] = {
      {"misspelt", "src_input_tensors {\n  color_spce: TENSOR_COLOR_SPACE_RGB\n}\n", {"L15:2"}},
      {"misplaced", "src_input_tensors {\n  mean: 1\n}\n", {"L15:2"}},
      {"of tomorrow", "a_field_of_tomorrow: 1\nsrc_input_tensors { tensor_name: \"x\" }\n", {}},
      {"ours, outside of inputs",
       "{\"inputs\": [{\"color\": \"RGB\"}],\n\"mean\": [1]}",
       {"L15:2"}},
      {"ours, not known", "{\"inputs\": [{\"colour_profile\": \"sRGB\"}]}", {"L15:1"}},
      // As the vendor's guide prints it: nothing around it, RGB means for BGR, std 0.255, and no
      // division by 255 before.
      {"copied from the guide",
       "dst_input_tensors {\n  color_space: TENSOR_COLOR_SPACE_BGR\n}\ninput_normalization {\n"
       "  mean: [0.485, 0.456, 0.406]\n  std: [0.229, 0.224, 0.255]\n}\n",
       {"L02:5", "L03:6", "L04:5", "L15:4"}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(found_in(each.text), each.found);
  }
}

TEST(LintFields, SayWhatWasMeant) {
  const Config config = config_of("src_input_tensors {\n  color_spce: TENSOR_COLOR_SPACE_RGB\n}\n");
  LintInput input;
  input.config = &config;
  const LintReport report = lint(input);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings.back().fix, "did you mean 'color_space'?");
  const auto refused = parse_config("{\"mean\": [1, 2, 3]}", "c.json");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().remedy.find("{\"inputs\": [{\"mean\": ...}]}"), std::string::npos);
}

TEST(ScaleDoubt, OnlyOfFloatsThatAreFedAsTheyAre) {
  Preprocess how;
  EXPECT_TRUE(scale_doubt(how, port_of("x", DType::kFloat32, {1, 3, 4, 4})));
  EXPECT_FALSE(scale_doubt(how, port_of("x", DType::kUint8, {1, 3, 4, 4})));
  how.modifications.push_back({Modification::Kind::kAffine, {1}, {}, {}, {}, {}, {}});
  EXPECT_FALSE(scale_doubt(how, port_of("x", DType::kFloat32, {1, 3, 4, 4})));
}

// ImageNet's mean of values of 0 to 1, subtracted from pixels: the manual's own mistake.
TEST(ScaleDoubt, OfAMeanOnAnotherScale) {
  const engine::Port port = port_of("x", DType::kFloat32, {1, 3, 4, 4});
  const auto normalised = [](std::vector<double> mean) {
    Modification change;
    change.kind = Modification::Kind::kNormalization;
    change.mean = std::move(mean);
    return change;
  };
  Modification divided;
  divided.slope = {1};
  divided.slope_divisor = {255};
  Preprocess how;
  how.modifications = {normalised({0.485, 0.456, 0.406})};
  EXPECT_THAT(scale_doubt(how, port),
              testing::Optional(testing::HasSubstr("values between 0 and 255")));
  how.modifications = {divided, normalised({0.485, 0.456, 0.406})};
  EXPECT_EQ(scale_doubt(how, port), std::nullopt);
  how.modifications = {normalised({123.675, 116.28, 103.53})};
  EXPECT_EQ(scale_doubt(how, port), std::nullopt);
  how.modifications = {divided, normalised({123.675, 116.28, 103.53})};
  EXPECT_THAT(scale_doubt(how, port),
              testing::Optional(testing::HasSubstr("without a division before")));
}

}  // namespace
}  // namespace plumb::input
