// SPDX-License-Identifier: Apache-2.0
//
// Models on the bench: where they are quantized, that what is built runs and agrees, and that
// repairs leave the float model what it is. Needs ONNX Runtime.
#include "quant/lab.h"

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/onnx_build.h"
#include "quant/quantize.h"
#include "quant/repair.h"
#include "quant/sensitivity.h"
#include "scratch.h"

namespace plumb::quant {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const fs::path kModels = fs::path(PLUMB_TEST_DATA).parent_path().parent_path() / "examples/models";

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A net of random weights, written layer by layer.
class Net {
 public:
  Net(const Shape& input, const Shape& output) {
    model_.ir_version = 8;
    graph::import_opset(model_, "", 13);
    model_.graph.name = model_.keep("net");
    model_.graph.inputs.push_back(*graph::make_value(model_, "x", {DType::kFloat32, input}));
    model_.graph.outputs.push_back(*graph::make_value(model_, "y", {DType::kFloat32, output}));
  }
  // Output channels get further and further apart by `spread`.
  void weight(const std::string& name, const Shape& shape, double spread = 1) {
    std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
    const size_t each = values.size() / static_cast<size_t>(shape[0]);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::normal_distribution<float>(0, 0.3f)(random_) *
                  static_cast<float>(std::pow(spread, static_cast<double>(i / each)));
    model_.graph.initializers.push_back(*graph::make_weight(
        model_, name, {DType::kFloat32, shape, std::as_bytes(std::span(values))}));
  }
  void node(const std::string& type, std::vector<std::string> inputs, const std::string& output,
            std::vector<graph::OnnxAttribute> attributes = {}) {
    model_.graph.nodes.push_back(*graph::make_node(model_, {.type = type,
                                                            .inputs = std::move(inputs),
                                                            .outputs = {output},
                                                            .attributes = std::move(attributes),
                                                            .copied = {},
                                                            .name = {},
                                                            .domain = {}}));
  }
  void write(const fs::path& path) const {
    std::ofstream(path, std::ios::binary) << graph::write_onnx(model_);
  }

 private:
  graph::OnnxModel model_;
  std::mt19937 random_{7};
};

class LabTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto engine = engine::load_engine("onnxruntime"); !engine)
      GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  }
  std::unique_ptr<Lab> open(const fs::path& path, const PlanOptions& options = {}) {
    auto lab = Lab::open({path, {}, {}}, options);
    EXPECT_TRUE(lab.ok()) << lab.error().what << ": " << lab.error().where;
    return lab ? std::move(*lab) : nullptr;
  }
  static input::SampleOptions digits() {
    input::SampleOptions options;
    options.inputs = {(kModels / "digits").string()};
    options.mean = "33";
    options.std = "78";
    return options;
  }
  std::unique_ptr<Trials> trials(const Lab& lab, const input::SampleOptions& options) {
    auto samples = input::open_samples(options, lab.model().inputs());
    EXPECT_TRUE(samples.ok()) << samples.error().what;
    auto made = Trials::open(lab, *samples, 1, context_);
    EXPECT_TRUE(made.ok()) << made.error().what << ": " << made.error().where;
    return made ? std::move(*made) : nullptr;
  }
  // conv -> relu -> depthwise conv -> relu -> conv; channels of the first are far apart, and the
  // second makes them equal again.
  fs::path spread_net() {
    Net net({1, 3, 8, 8}, {1, 5, 8, 8});
    const std::vector<graph::OnnxAttribute> pads{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    net.weight("w1", {12, 3, 3, 3}, 1.6);
    net.weight("b1", {12}, 1.6);
    net.weight("w2", {12, 1, 3, 3}, 1 / 1.6);
    net.weight("w3", {5, 12, 1, 1});
    net.node("Conv", {"x", "w1", "b1"}, "c1", pads);
    net.node("Relu", {"c1"}, "r1");
    net.node("Conv", {"r1", "w2"}, "c2",
             {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"group", int64_t{12}}});
    net.node("Relu", {"c2"}, "r2");
    net.node("Conv", {"r2", "w3"}, "y");
    net.write(scratch_.path() / "spread.onnx");
    return scratch_.path() / "spread.onnx";
  }
  Scratch scratch_;
  RunContext context_;
};

std::vector<std::string> names_of(const std::vector<Layer>& layers) {
  std::vector<std::string> names;
  for (const Layer& layer : layers) names.push_back(layer.name);
  return names;
}

TEST_F(LabTest, TheDigitsNetworkIsPlannedByTheRules) {
  const auto lab = open(kModels / "digits.onnx");
  ASSERT_TRUE(lab);
  EXPECT_THAT(names_of(lab->plan().layers),
              ElementsAre("conv1", "dw2", "pw2", "dw3", "pw3", "add3", "conv4a", "conv4b",
                          "concat4", "conv5", "pool5", "fc6"));
  std::map<std::string, const Quantizer*> by_name;
  for (const Quantizer& quantizer : lab->plan().quantizers) by_name[quantizer.name()] = &quantizer;
  ASSERT_TRUE(by_name.contains("conv1_relu"));  // Relu is part of the convolution
  EXPECT_FALSE(by_name.contains("conv1_scale"));
  EXPECT_THAT(by_name.at("pw2_relu")->passed, ElementsAre("pool2"));
  EXPECT_THAT(by_name.at("conv4a_relu")->tensors, ElementsAre("conv4a_relu", "conv4b_relu"));
  EXPECT_THAT(by_name.at("conv4a_relu")->passed, ElementsAre("concat4"));
  EXPECT_TRUE(by_name.at("fc6")->is_tail);  // only Softmax comes behind it
  EXPECT_THAT(lab->plan().left_float, ElementsAre("prob (Softmax)"));
}

TEST_F(LabTest, OutputsAreRoundedIfAskedFor) {
  PlanOptions options;
  options.quantize_outputs = true;
  const auto lab = open(kModels / "digits.onnx", options);
  ASSERT_TRUE(lab);
  for (const Quantizer& quantizer : lab->plan().quantizers) EXPECT_FALSE(quantizer.is_tail);
}

TEST_F(LabTest, FoldingKeepsTheFloatModelWhatItIs) {
  const auto lab = open(kModels / "digits.onnx");
  ASSERT_TRUE(lab);
  for (const graph::OnnxNode& node : lab->prepared().model.graph.nodes)
    EXPECT_NE(node.type, "BatchNormalization");
  const auto samples = trials(*lab, digits());
  ASSERT_TRUE(samples);
  auto original = samples->score(text_of_file(kModels / "digits.onnx"), context_);
  ASSERT_TRUE(original.ok()) << original.error().where;
  EXPECT_GT(original->sqnr_db(), 110);
  EXPECT_EQ(original->agree, 10);
}

TEST_F(LabTest, ThreadsChangeNothing) {
  std::vector<std::string> texts;
  for (const int jobs : {1, 8}) {
    QuantizeOptions options;
    options.model.path = kModels / "digits.onnx";
    options.calibration = digits();
    options.settings.observer = {Method::kMse};
    options.equalize = options.correct_bias = true;
    options.directory = scratch_.path() / std::to_string(jobs);
    auto job = QuantizeJob::open(options);
    ASSERT_TRUE(job.ok()) << job.error().what;
    RunContext context;
    context.jobs = jobs;
    auto done = (*job)->run(context);
    ASSERT_TRUE(done.ok()) << done.error().what << ": " << done.error().where;
    for (const char* file : {"quant.json", "model_fakequant.onnx", "model_qdq.onnx"})
      texts.push_back(text_of_file(options.directory / file));
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(texts[i], texts[i + 3]) << i;
}

TEST_F(LabTest, IntegerWeightsGiveWhatTheSimulationGives) {
  const auto lab = open(kModels / "digits.onnx");
  ASSERT_TRUE(lab);
  const auto samples = trials(*lab, digits());
  auto set = input::open_samples(digits(), lab->model().inputs());
  auto calibration = lab->calibrate(*set, {}, context_);
  ASSERT_TRUE(calibration.ok());
  EXPECT_EQ(calibration->samples.size(), 10u);
  for (const char* precision : {"a8w8", "a16w8", "a16w16", "a8w4"}) {
    const Precision own = *precision_from_text(precision, {});
    const Quantization made =
        quantize(lab->plan(), calibration->seen, lab->values(),
                 std::vector<Precision>(lab->plan().layers.size(), own), Settings{});
    auto fake = build_quantized(lab->prepared(), lab->plan(), made, Form::kFakeQuant);
    auto integers = build_quantized(lab->prepared(), lab->plan(), made, Form::kQdq);
    ASSERT_TRUE(fake.ok() && integers.ok()) << precision;
    auto fake_score = samples->score(fake->file, context_);
    auto score = samples->score(integers->file, context_);
    ASSERT_TRUE(fake_score.ok()) << precision << fake_score.error().where;
    ASSERT_TRUE(score.ok()) << precision << score.error().where;
    EXPECT_NEAR(score->cosine(), fake_score->cosine(), 1e-6) << precision;
    EXPECT_GT(score->sqnr_db(), std::string(precision) == "a16w16" ? 60 : 10) << precision;
  }
}

TEST_F(LabTest, EqualizingKeepsTheFloatModelAndHelpsWeightsByTensor) {
  const auto lab = open(spread_net());
  ASSERT_TRUE(lab);
  std::vector<LayerValues> values = lab->values();
  ASSERT_EQ(equalize(lab->prepared(), lab->plan(), values), 2u);
  Quantization only;
  only.activations.resize(lab->plan().quantizers.size());
  only.weights.resize(lab->plan().layers.size());
  only.values = values;
  auto balanced = build_quantized(lab->prepared(), lab->plan(), only, Form::kFakeQuant);
  ASSERT_TRUE(balanced.ok());
  input::SampleOptions random;
  random.seed = "5";
  const auto samples = trials(*lab, random);
  auto score = samples->score(balanced->file, context_);
  ASSERT_TRUE(score.ok()) << score.error().where;
  EXPECT_LT(score->distance(), 1e-5);

  Settings by_tensor, by_channel;
  by_tensor.per_channel = false;
  const auto sqnr = [&](const std::vector<LayerValues>& from, const Settings& settings) {
    Quantization made = only;
    made.values = from;
    for (size_t i = 0; i < lab->plan().layers.size(); ++i)
      made.weights[i] = quantize_weight(*lab->plan().layers[i].weight, from[i], DType::kInt8,
                                        std::nullopt, settings);
    auto built = build_quantized(lab->prepared(), lab->plan(), made, Form::kFakeQuant);
    return samples->score(built->file, context_)->sqnr_db();
  };
  const double plain = sqnr(lab->values(), by_tensor);
  EXPECT_GT(sqnr(lab->values(), by_channel), plain + 6);
  EXPECT_GT(sqnr(values, by_tensor), plain + 3);
}

// One input channel of the MatMul is a hundred times as large as the others.
TEST_F(LabTest, SmoothingKeepsTheFloatModelAndBlocksRun) {
  Net net({1, 6, 64}, {1, 6, 24});
  net.weight("w1", {64, 64});
  net.weight("w2", {64, 24});
  net.node("MatMul", {"x", "w1"}, "m1");
  net.node("Relu", {"m1"}, "r1");
  net.node("MatMul", {"r1", "w2"}, "y");
  net.write(scratch_.path() / "matmul.onnx");
  const auto lab = open(scratch_.path() / "matmul.onnx");
  ASSERT_TRUE(lab);
  input::SampleOptions random;
  random.seed = "6";
  const auto samples = trials(*lab, random);
  auto magnitudes = input_magnitudes(*lab, *samples, context_);
  ASSERT_TRUE(magnitudes.ok());
  auto smoothed = smooth(*lab, *magnitudes, 0.5);
  ASSERT_TRUE(smoothed.ok());
  EXPECT_EQ(smoothed->layers, 2u);
  auto score = samples->score(smoothed->file, context_);
  ASSERT_TRUE(score.ok()) << score.error().where;
  EXPECT_LT(score->distance(), 1e-5);

  Settings settings;
  settings.block = 32;
  const Precision weights_only{std::nullopt, DType::kInt4};
  const Quantization made =
      quantize(lab->plan(), std::vector<Observation>(lab->plan().quantizers.size()), lab->values(),
               std::vector<Precision>(lab->plan().layers.size(), weights_only), settings);
  auto fake = build_quantized(lab->prepared(), lab->plan(), made, Form::kFakeQuant);
  auto blocks = build_quantized(lab->prepared(), lab->plan(), made, Form::kQdq);
  ASSERT_TRUE(fake.ok() && blocks.ok());
  auto fake_score = samples->score(fake->file, context_);
  auto blocks_score = samples->score(blocks->file, context_);
  ASSERT_TRUE(fake_score.ok() && blocks_score.ok()) << blocks_score.error().where;
  EXPECT_GT(fake_score->sqnr_db(), 12);
  EXPECT_NEAR(fake_score->sqnr_db(), blocks_score->sqnr_db(), 0.01);
}

// A Relu makes a shift of noise: means that agree before it do not agree behind it, and behind it
// is what the next layer reads.
TEST_F(LabTest, BiasesAreCorrectedBehindTheActivation) {
  Net net({1, 3, 48, 48}, {1, 4, 46, 46});
  net.weight("w1", {16, 3, 3, 3});
  net.weight("b1", {16});
  net.weight("w2", {4, 16, 1, 1});
  net.node("Conv", {"x", "w1", "b1"}, "c1");
  net.node("Relu", {"c1"}, "r1");
  net.node("Conv", {"r1", "w2"}, "y");
  net.write(scratch_.path() / "relu.onnx");
  const auto lab = open(scratch_.path() / "relu.onnx");
  ASSERT_TRUE(lab);
  input::SampleOptions random;
  random.seed = "4";
  const auto samples = trials(*lab, random);
  // Channel means of a tensor.
  const auto means = [&](const std::string& file, const std::string& tensor) {
    std::vector<double> made(16);
    auto ran = samples->run(
        file, std::span(&tensor, 1), [](size_t) {},
        [&](const std::string& name, std::span<const float> values, const Shape& shape) {
          if (name != tensor) return;
          const Channels channels = channels_of(shape, 1);
          for (size_t i = 0; i < values.size(); ++i)
            made[static_cast<size_t>(channels.of(static_cast<int64_t>(i)))] +=
                values[i] / static_cast<double>(channels.outer * channels.inner);
        },
        context_);
    EXPECT_TRUE(ran.ok());
    return made;
  };
  Settings settings;
  settings.has_integer_bias = false;
  const Precision weights_only{std::nullopt, DType::kInt4};
  const Quantization plain =
      quantize(lab->plan(), std::vector<Observation>(lab->plan().quantizers.size()), lab->values(),
               std::vector<Precision>(lab->plan().layers.size(), weights_only), settings);
  const auto file_of = [&](const Quantization& made) {
    return build_quantized(lab->prepared(), lab->plan(), made, Form::kFakeQuant)->file;
  };
  const std::string& golden = lab->prepared().file;
  const auto error_behind = [&](const Quantization& made) {
    const auto own = means(file_of(made), "r1"), wanted = means(golden, "r1");
    double sum = 0;
    for (size_t c = 0; c < own.size(); ++c) sum += std::abs(own[c] - wanted[c]);
    return sum;
  };
  Quantization before = plain;
  const auto own = means(file_of(plain), "c1"), wanted = means(golden, "c1");
  for (size_t c = 0; c < own.size(); ++c)
    before.values[0].bias[c] += static_cast<float>(wanted[c] - own[c]);
  Quantization corrected = plain;
  ASSERT_TRUE(correct_biases(*lab, *samples, settings, corrected, context_).ok());
  EXPECT_LT(error_behind(corrected), 0.75 * error_behind(before));
  EXPECT_LT(error_behind(corrected), 0.75 * error_behind(plain));
}

// The nodes between two tensors, as pulsar2 chooses a part of a model.
TEST_F(LabTest, APartOfTheModelIsChosenByItsTensors) {
  const auto lab = open(kModels / "digits.onnx");
  ASSERT_TRUE(lab);
  const auto wide = [&](const std::string& text) -> std::vector<std::string> {
    auto requests = requests_from_table(text, "t.json", {});
    EXPECT_TRUE(requests.ok()) << requests.error().what << requests.error().where;
    if (!requests) return {};
    auto precisions = apply_requests(lab->prepared(), lab->plan(), {}, *requests);
    if (!precisions) return {precisions.error().what};
    std::vector<std::string> names;
    for (size_t i = 0; i < precisions->size(); ++i)
      if ((*precisions)[i] != Precision{})
        names.push_back(lab->plan().layers[i].name + " " + text_of((*precisions)[i]));
    return names;
  };
  const auto part = [](const std::string& starts, const std::string& ends) {
    return R"({"quant": {"layer_configs": [{"start_tensor_names": [")" + starts +
           R"("], "end_tensor_names": [")" + ends + R"("], "data_type": "U16"}]}})";
  };
  EXPECT_THAT(wide(part("conv1_relu", "pw2_relu")), ElementsAre("dw2 a16w8", "pw2 a16w8"));
  EXPECT_THAT(wide(part("concat4", "DEFAULT")),
              ElementsAre("conv5 a16w8", "pool5 a16w8", "fc6 a16w8"));
  EXPECT_EQ(wide(part("DEFAULT", "DEFAULT")).size(), lab->plan().layers.size());
  EXPECT_THAT(wide(part("conv1_rely", "DEFAULT")),
              ElementsAre("no tensor of the model is 'conv1_rely'"));
  // Nothing lies between.
  EXPECT_THAT(wide(part("pw2_relu", "conv1_relu")),
              ElementsAre("no layer of the model is 'pw2_relu to conv1_relu'"));
  // Tables of other tools.
  EXPECT_THAT(wide(R"({"nodes_to_exclude": ["conv1", "fc6"]})"),
              ElementsAre("conv1 float", "fc6 float"));
  EXPECT_THAT(wide(R"({"skip_layers": ["dw2"]})"), ElementsAre("dw2 float"));
  EXPECT_THAT(wide("# op  mode\nconv1 F32\n\ndw2 INT8\n"), ElementsAre("conv1 float"));
  EXPECT_THAT(wide("operator_conf_items {\n  selector { op_name: \"conv1\" }\n  attributes { "
                   "input_feature_type: UINT16 }\n}\n"),
              ElementsAre("conv1 a16w8"));
  for (const char* bad : {"", "conv1", "conv1 F99\n", "{}", "{"}) {
    const auto requests = requests_from_table(bad, "t", {});
    EXPECT_FALSE(requests.ok()) << bad;
  }
}

TEST_F(LabTest, SensitivityHasEveryLayerOnce) {
  const auto lab = open(kModels / "digits.onnx");
  ASSERT_TRUE(lab);
  const auto samples = trials(*lab, digits());
  auto set = input::open_samples(digits(), lab->model().inputs());
  auto calibration = lab->calibrate(*set, {}, context_);
  ASSERT_TRUE(calibration.ok());
  SensitivityOptions options;
  options.precisions.assign(lab->plan().layers.size(), Precision{});
  options.engines = 2;
  auto made = measure_sensitivity(*lab, *calibration, *samples, options, context_);
  ASSERT_TRUE(made.ok()) << made.error().where;
  std::vector<std::string> names;
  for (const LayerSensitivity& row : made->layers) names.push_back(row.layer);
  EXPECT_THAT(names,
              UnorderedElementsAre("conv1", "dw2", "pw2", "dw3", "pw3", "add3", "conv4a", "conv4b",
                                   "concat4", "conv5", "pool5", "fc6", "<input>", "<output>"));
  for (size_t i = 1; i < made->layers.size(); ++i)
    EXPECT_LE(made->layers[i - 1].one, made->layers[i].one);
  for (const LayerSensitivity& row : made->layers) {
    if (row.layer.starts_with("<")) continue;
    ASSERT_TRUE(row.isolated && row.cumulative) << row.layer;
    EXPECT_GT(*row.one, made->all_db) << row.layer;  // one layer loses less than all
    EXPECT_GE(*row.isolated + 1, *row.cumulative) << row.layer;
  }
}

// What sensitivity is for: bits spent on the layers that it names first bring more than the same
// bits spent on those that it names last.
TEST_F(LabTest, WideningSensitiveLayersHelpsMost) {
  const auto lab = open(kModels / "digits.onnx");
  ASSERT_TRUE(lab);
  const auto samples = trials(*lab, digits());
  auto set = input::open_samples(digits(), lab->model().inputs());
  auto calibration = lab->calibrate(*set, {}, context_);
  ASSERT_TRUE(calibration.ok());
  const Precision narrow = *precision_from_text("a8w4", {}), wide;
  SensitivityOptions options;
  options.settings.per_channel = false;
  options.part = Part::kWeights;
  options.precisions.assign(lab->plan().layers.size(), narrow);
  auto made = measure_sensitivity(*lab, *calibration, *samples, options, context_);
  ASSERT_TRUE(made.ok()) << made.error().where;
  std::vector<size_t> layers;  // with weights, worst first
  for (const LayerSensitivity& row : made->layers)
    if (const auto place = lab->plan().find_layer(row.layer); place && row.parameters > 0)
      layers.push_back(*place);
  ASSERT_EQ(layers.size(), 9U);
  const auto with_wide = [&](std::span<const size_t> chosen) {
    std::vector<Precision> precisions(lab->plan().layers.size(), narrow);
    for (const size_t layer : chosen) precisions[layer] = wide;
    const Quantization quantized =
        quantize(lab->plan(), calibration->seen, lab->values(), precisions, options.settings);
    auto built = build_quantized(lab->prepared(), lab->plan(), quantized, Form::kFakeQuant);
    return samples->score(built->file, context_)->sqnr_db();
  };
  EXPECT_GT(with_wide(std::span(layers).first(3)), with_wide(std::span(layers).last(3)) + 2);
}

// Where the positive side of x * Sigmoid(x) is wide, its dip below 0 gets no levels of 8 bits.
TEST_F(LabTest, ADipWithoutLevelsIsTold) {
  for (const double spread : {1.0, 8.0}) {
    Net net({1, 3, 8, 8}, {1, 4, 4, 4});
    net.weight("w1", {4, 3, 3, 3}, spread);
    net.weight("w2", {4, 4, 3, 3});
    net.node("Conv", {"x", "w1"}, "c");
    net.node("Sigmoid", {"c"}, "s");
    net.node("Mul", {"c", "s"}, "m");
    net.node("Conv", {"m", "w2"}, "y");
    QuantizeOptions options;
    options.model.path = scratch_.path() / "silu.onnx";
    net.write(options.model.path);
    options.calibration.seed = "3";
    options.directory = scratch_.path() / std::to_string(spread);
    auto job = QuantizeJob::open(options);
    ASSERT_TRUE(job.ok()) << job.error().what;
    auto done = (*job)->run(context_);
    ASSERT_TRUE(done.ok()) << done.error().what << ": " << done.error().where;
    const auto told = Contains(testing::HasSubstr("x * Sigmoid(x)"));
    if (spread > 1)
      EXPECT_THAT(done->warnings, told);
    else
      EXPECT_THAT(done->warnings, Not(told));
  }
}

// Of a model that is right on 9 of 10 digits where the float model is right on all, one point in
// ten is lost.
TEST_F(LabTest, LostPointsOfTopOneAreCounted) {
  const auto lab = open(kModels / "digits.onnx");
  ASSERT_TRUE(lab);
  const auto samples = trials(*lab, digits());
  std::vector<std::optional<int64_t>> labels;
  for (int64_t i = 0; i < 10; ++i) labels.emplace_back(i);
  labels[3] = 4;  // golden is wrong there
  labels[9].reset();
  ASSERT_TRUE(samples->set_labels(labels).ok());
  const auto score = samples->score(text_of_file(kModels / "digits.onnx"), context_);
  EXPECT_EQ(score->labelled, 9);
  EXPECT_EQ(score->golden_right, 8);
  EXPECT_EQ(score->drop(), 0);
  Score lost;
  add_to(lost, {{"y", {0, 2, 1}}}, {{"y", {0, 2, 3}}}, 2);
  add_to(lost, {{"y", {0, 2, 1}}}, {{"y", {0, 2, 1}}}, 1);
  add_to(lost, {{"y", {1, 1, 1}}}, {{"y", {0, 2, 1}}});
  EXPECT_EQ(lost.labelled, 2);
  EXPECT_EQ(lost.drop(), 50);
  labels[0] = 10;
  EXPECT_EQ(samples->set_labels(labels).error().what, "the labels do not fit the model");
}

TEST_F(LabTest, NotANumberIsNamed) {
  Net net({1, 4}, {1, 4});
  net.weight("w", {4, 4});
  net.node("MatMul", {"x", "w"}, "m");
  net.node("Log", {"m"}, "l");
  net.node("MatMul", {"l", "w"}, "y");
  net.write(scratch_.path() / "log.onnx");
  const auto lab = open(scratch_.path() / "log.onnx");
  ASSERT_TRUE(lab);
  input::SampleOptions random;
  random.seed = "1";
  auto samples = input::open_samples(random, lab->model().inputs());
  auto calibration = lab->calibrate(*samples, {}, context_);
  ASSERT_FALSE(calibration.ok());
  EXPECT_EQ(calibration.error().what, "a tensor is not finite in the float model");
  EXPECT_NE(calibration.error().where.find("l of sample random"), std::string::npos)
      << calibration.error().where;
}

}  // namespace
}  // namespace plumb::quant
