// SPDX-License-Identifier: Apache-2.0
//
// Each cause once on a small network of tensors in memory, and once healthy.
#include "diagnose/explain.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/made_network.h"
#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kElements = kMadeElements;

std::vector<float> numbers(uint32_t seed, double scale = 1) { return made_numbers(seed, scale); }

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
    MadeNetwork made;
    made.operators = {{"data", "Data", "", data, data_target, {}},
                      {"conv", "Conv2D", "data", conv, conv_target, origins},
                      {"scale", "Mul", "conv", scale, scale_target, {}},
                      {"out", "Mul", "scale", out, out_target, {}}};
    auto [session, run] = made.compared();
    explain(run, Tensors(&session), RunContext{});
    return std::move(run);
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

// Arrays in another order than the device's, say: fusion has no part in it.
TEST(Explain, AFusedOperatorWithItsAxesInAnotherOrderIsNotFusedWrongly) {
  Network network;
  network.origins = {"conv", "bias"};
  for (size_t i = 0; i < kElements; ++i)
    network.conv_target[i] = network.conv[i / 64 * 64 + i % 8 * 8 + i / 8 % 8];
  const Found found = first(network.explained());
  EXPECT_EQ(found.op, "conv");
  EXPECT_EQ(found.cause, "transform");
  EXPECT_EQ(found.detail, "axes:0,1,3,2");
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

// Nothing is near a limit, and still one operator is hundreds of times worse than the others.
TEST(Explain, WhoStandsOutIsToldThoughEverythingPasses) {
  Network network;
  network.scale_target = Network::times(network.conv, 3.1415927F);
  const std::vector<float> other = numbers(9, 3e-4);
  for (size_t i = 0; i < kElements; ++i) network.scale_target[i] += other[i];
  const result::Run run = network.explained();
  EXPECT_EQ(run.summary().verdict, result::Verdict::kPass);
  const Found found = first(run);
  EXPECT_EQ(found.op, "scale");
  EXPECT_EQ(found.cause, "operator");
}

// All are near a limit, and only the first reads nothing that is off: a step is no evidence where
// nobody was measured.
TEST(Explain, StepsThatNobodyMeasuredAreNoEvidenceWhereEverythingPasses) {
  MadeNetwork made;
  for (uint32_t i = 0; i < 8; ++i) {
    const std::string name = "op" + std::to_string(i);
    made.add(name, "Conv2D", i == 0 ? "" : "op" + std::to_string(i - 1), made_numbers(i + 1));
    const std::vector<float> noise = made_numbers(i + 50, 6e-4);
    for (size_t k = 0; k < kElements; ++k) made.operators.back().target[k] += noise[k];
  }
  auto [session, run] = made.compared();
  explain(run, Tensors(&session), RunContext{});
  EXPECT_EQ(run.summary().verdict, result::Verdict::kPass);
  EXPECT_GT(run.summary().suspicious, 0);
  EXPECT_THAT(run.findings, IsEmpty());
}

// A call of an API as a dump records it: a tensor, or an argument that is none.
result::Row call_row(std::string op, std::string slot, bool is_tensor, bool differs) {
  result::Row row;
  row.target.emplace();
  row.target->operator_name = std::move(op);
  row.target->slot = std::move(slot);
  row.target->dtype = is_tensor ? "torch.float32" : "int";
  if (is_tensor) row.target->shape = Shape{4, 4};
  row.golden = row.target;
  row.verdict = differs ? result::Verdict::kFail : result::Verdict::kPass;
  if (differs) row.reasons = {is_tensor ? "shape_mismatch" : "limit:equal_share"};
  row.message = differs ? "2 in target, 1 in golden" : "";
  return row;
}

result::Run calls(bool has_other_stride) {
  result::Run run;
  run.is_ordered = true;
  run.rows = {call_row("relu.0", "input:0", true, false),
              call_row("relu.0", "output:0", true, false),
              call_row("conv2d.0", "input:0", true, false),
              call_row("conv2d.0", "input:3.0", false, has_other_stride),
              call_row("conv2d.0", "output:0", true, true),
              call_row("relu.1", "input:0", true, true),
              call_row("relu.1", "output:0", true, true)};
  explain(run, Tensors(nullptr), RunContext{});
  return run;
}

TEST(Explain, AnotherArgumentOfACall) {
  const Found found = first(calls(true));
  EXPECT_EQ(found.op, "conv2d.0");
  EXPECT_EQ(found.cause, "operator");
  EXPECT_EQ(found.detail, "argument:3.0");
  for (const result::Finding& finding : calls(false).findings)
    EXPECT_FALSE(finding.detail.starts_with("argument:"));
}

// Arguments that differ come in the order of execution, also where the output of the first of them
// is within limits and only what follows is not.
TEST(Explain, ArgumentsComeBeforeWhatTheyCause) {
  result::Run run;
  run.is_ordered = true;
  run.metrics = {metrics::metric_by_name("rel_euclid")};
  run.rows = {call_row("leaky_relu.0.forward", "input:0", true, false),
              call_row("leaky_relu.0.forward", "input:negative_slope", false, true),
              call_row("leaky_relu.0.forward", "output:0", true, false),
              call_row("max_pool2d.0.forward", "input:0", true, false),
              call_row("max_pool2d.0.forward", "input:stride", false, true),
              call_row("max_pool2d.0.forward", "output:0", true, true),
              call_row("leaky_relu.0.backward", "input:0", true, false),
              call_row("leaky_relu.0.backward", "output:0", true, true)};
  const double errors[] = {1e-7, kUnknown, 5e-4, 5e-4, kUnknown, kUnknown, 2e-4, 0.3};
  for (size_t i = 0; i < run.rows.size(); ++i)
    run.rows[i].values = {std::isnan(errors[i]) ? metrics::Value::undefined("not a number")
                                                : metrics::Value::of(errors[i])};
  explain(run, Tensors(nullptr), RunContext{});
  ASSERT_GE(run.findings.size(), 3U);
  EXPECT_EQ(run.findings[0].operator_name, "leaky_relu.0.forward");
  EXPECT_EQ(run.findings[1].operator_name, "max_pool2d.0.forward");
  EXPECT_EQ(run.findings[2].operator_name, "leaky_relu.0.backward");
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
