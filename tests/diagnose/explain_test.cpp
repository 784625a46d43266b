// SPDX-License-Identifier: Apache-2.0
//
// Each cause once on a small network of tensors in memory, and once healthy.
#include "diagnose/explain.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/rule.h"
#include "graph/graph.h"
#include "plumb/session.h"

namespace plumb::diagnose {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kChannels = 8, kElements = 512;

// The same numbers on every machine: sums of a linear generator, nearly normal.
std::vector<float> numbers(uint32_t seed, double scale = 1) {
  std::vector<float> values(kElements);
  uint32_t state = seed * 2654435761U + 1;
  for (float& value : values) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 1664525U + 1013904223U;
      sum += static_cast<double>(state >> 8) / (1 << 24);
    }
    value = static_cast<float>((sum - 6) * scale);
  }
  return values;
}

// data -> conv -> scale -> out: what each gives out, on both sides. A change of `conv` is handed
// on.
struct Network {
  std::vector<float> data = numbers(1), conv = numbers(2), scale, out;
  std::vector<float> conv_target, data_target, scale_target, out_target;
  std::vector<std::string> origins = {"conv"};

  static std::vector<float> times(const std::vector<float>& values, float factor) {
    std::vector<float> scaled = values;
    for (float& value : scaled) value *= factor;
    return scaled;
  }

  Network() {
    data_target = data;
    conv_target = conv;
  }

  result::Run explained() {
    scale = times(conv, 3.1415927F);
    out = times(scale, 0.5F);
    if (scale_target.empty()) scale_target = times(conv_target, 3.1415927F);
    out_target = times(scale_target, 0.5F);
    Spec spec;
    const auto add = [](SideSpec& side, const char* op, const std::vector<float>& values) {
      NamedTensor tensor;
      tensor.op = op;
      tensor.shape = {1, kChannels, 8, 8};
      tensor.bytes = std::as_bytes(std::span(values));
      side.tensors.push_back(tensor);
    };
    add(spec.golden, "data", data), add(spec.golden, "conv", conv);
    add(spec.golden, "scale", scale), add(spec.golden, "out", out);
    add(spec.target, "data", data_target), add(spec.target, "conv", conv_target);
    add(spec.target, "scale", scale_target), add(spec.target, "out", out_target);
    auto graph = std::make_shared<graph::Graph>();
    const auto op = [&](const char* name, const char* type, const char* reads) {
      graph::Operator& made = graph->operators.emplace_back();
      made.name = name;
      made.type = type;
      if (reads != nullptr) made.inputs = {{reads, 0}};
      made.outputs.resize(1);
      made.outputs[0].origin = name;
      made.outputs[0].origin_output = 0;
      made.origins = {name};
    };
    op("data", "Data", nullptr), op("conv", "Conv2D", "data");
    op("scale", "Mul", "conv"), op("out", "Mul", "scale");
    graph->operators[1].origins = origins;
    graph->outputs = {{"out", 0}};
    spec.target.model = graph;
    spec.mode = "offline-vs-original";
    spec.profile = "standard";
    RunContext context;
    auto session = Session::open(spec, context);
    if (!session) throw std::runtime_error(session.error().what + ": " + session.error().where);
    auto run = compare_all(*session, context);
    if (!run) throw std::runtime_error(run.error().what);
    explain(*run, Tensors(&*session), context);
    return std::move(*run);
  }
};

struct Found {
  std::string op, cause, detail;
};

Found first(const result::Run& run) {
  if (run.findings.empty()) return {};
  const result::Finding& finding = run.findings.front();
  return {finding.operator_name, finding.cause, finding.detail};
}

TEST(Explain, NothingDiffers) { EXPECT_THAT(Network().explained().findings, IsEmpty()); }

TEST(Explain, EveryFindingHasNumbersAdviceAndConfidence) {
  Network network;
  for (size_t i = 0; i < kElements; i += 3) network.conv_target[i] += 0.7F;
  const result::Run run = network.explained();
  ASSERT_FALSE(run.findings.empty());
  for (const result::Finding& finding : run.findings) {
    EXPECT_FALSE(finding.advice.empty());
    EXPECT_GT(finding.confidence, 0);
    EXPECT_LE(finding.confidence, 1);
    const auto numbers_in =
        std::count_if(finding.evidence.begin(), finding.evidence.end(),
                      [](const result::Evidence& evidence) { return evidence.value.has_value(); });
    EXPECT_GE(numbers_in, 2) << finding.cause;
  }
}

TEST(Explain, Overflow) {
  Network network;
  network.conv_target[7] = std::numeric_limits<float>::infinity();
  network.conv[7] = 1e30F;
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "overflow");
}

TEST(Explain, Saturation) {
  Network network;
  network.conv = numbers(2, 90);
  network.conv_target = network.conv;
  for (float& value : network.conv_target) value = std::clamp(value, -128.0F, 127.0F);
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "saturation");
  EXPECT_EQ(found.detail, "saturated:-128,127");
}

TEST(Explain, CalibrationClipping) {
  Network network;
  const double step = 1.3 / 127;
  for (float& value : network.conv_target)
    value = static_cast<float>(step * std::clamp(std::round(value / step), -128.0, 127.0));
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "calibration_clipping");
}

TEST(Explain, OutlierChannel) {
  Network network;
  for (size_t i = 0; i < 64; ++i) network.conv[3 * 64 + i] *= 60;
  network.conv_target = network.conv;
  double largest = 0;
  for (const float value : network.conv)
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (float& value : network.conv_target)
    value = static_cast<float>(largest / 127 * std::round(value / (largest / 127)));
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "outlier_channel");
}

TEST(Explain, FewLevels) {
  Network network;
  for (float& value : network.conv_target) value = 0.37F * std::round(value / 0.37F);
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "quantization");
  EXPECT_THAT(found.detail, HasSubstr("levels:"));
}

TEST(Explain, NarrowerType) {
  Network network;
  for (float& value : network.conv_target)
    value = std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x8000U) & 0xFFFF0000U);
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "precision_mode");
  EXPECT_EQ(found.detail, "bfloat16");
}

TEST(Explain, Fusion) {
  Network network;
  network.origins = {"conv", "bias"};
  const std::vector<float> other = numbers(9, 0.3);
  for (size_t i = 0; i < kElements; ++i) network.conv_target[i] += other[i];
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "fusion");
}

TEST(Explain, InputsDiffer) {
  Network network;
  network.data_target = numbers(5);
  network.conv_target = numbers(6);
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "data");
  EXPECT_EQ(found.cause, "inputs_differ");
}

TEST(Explain, StaleBuffer) {
  Network network;
  network.scale_target = network.data;
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "scale");
  EXPECT_EQ(found.cause, "transform");
  EXPECT_EQ(found.detail, "stale:data");
}

TEST(Explain, MissingRelu) {
  Network network;
  for (float& value : network.conv) value = std::max(value, 0.0F);
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "operator");
  EXPECT_EQ(found.detail, "missing:Relu");
}

TEST(Explain, AnOperatorThatComputesSomethingElse) {
  Network network;
  const std::vector<float> other = numbers(9, 0.3);
  for (size_t i = 0; i < kElements; ++i) network.conv_target[i] += other[i];
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "operator");
}

TEST(Explain, OneChannel) {
  Network network;
  for (size_t i = 0; i < 64; ++i) network.conv_target[5 * 64 + i] *= 1.5F;
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "operator");
  EXPECT_EQ(found.detail, "channel:5");
}

// Rows get an estimate of what the operator did itself.
TEST(Explain, OwnErrors) {
  Network network;
  const std::vector<float> other = numbers(9, 0.3);
  for (size_t i = 0; i < kElements; ++i) network.conv_target[i] += other[i];
  const result::Run run = network.explained();
  for (const result::Row& row : run.rows) {
    if (!row.target || !row.own_error) continue;
    EXPECT_FALSE(row.own_error->measured);
    if (row.target->operator_name == "conv") {
      EXPECT_NEAR(row.own_error->value, 0.3, 0.05);
    }
    if (row.target->operator_name == "out") {
      EXPECT_LT(row.own_error->value, 0.01);
    }
  }
}

TEST(Rules, NamesAreUniqueAndSaySomething) {
  std::set<std::string_view> names;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.summary.empty());
  }
}

}  // namespace
}  // namespace plumb::diagnose
