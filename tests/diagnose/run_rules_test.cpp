// SPDX-License-Identifier: Apache-2.0
//
// What explains a run as a whole: each rule where it has to speak, and where it has to be silent.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/run_rule.h"

namespace plumb::diagnose {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// An output of two dumps of one kind, with this cosine.
result::Run run_with_cosine(double cosine, std::string_view convention = "ascend-dump") {
  result::Run run;
  run.command = "compare";
  run.scenario = "npu-vs-npu";
  run.target.convention = run.golden.convention = convention;
  run.metrics = {metrics::metric_by_name("cosine")};
  result::Row& row = run.rows.emplace_back();
  row.target = row.golden = result::Side{"prob", "Softmax", "output:0", "float16", {}, {}, {}};
  row.is_model_output = true;
  row.values = {metrics::Value::of(cosine)};
  return run;
}

result::Finding accused(std::string cause, std::string detail, double confidence,
                        std::string op = "conv1") {
  result::Finding finding;
  finding.rule = finding.cause = std::move(cause);
  finding.detail = std::move(detail);
  finding.operator_name = std::move(op);
  finding.confidence = confidence;
  return finding;
}

void explain_whole(result::Run& run, bool differs) {
  run.rows[0].verdict = differs ? result::Verdict::kFail : result::Verdict::kPass;
  explain_as_a_whole(run);
}

int numbers_in(const result::Finding& finding) {
  int count = 0;
  for (const result::Evidence& evidence : finding.evidence) count += evidence.value.has_value();
  return count;
}

std::string text_of(const result::Finding& finding) {
  std::string text;
  for (const result::Evidence& evidence : finding.evidence) text += evidence.text + "\n";
  return text;
}

const std::vector<result::EnvironmentChange> kUpgrade = {
    {"firmware.package_version", "25.2.0", "24.1.rc3"},
    {"firmware.Version", "7.8.0", "7.5.0"},
    {"toolkit.compatible_version", "[V100R001C25]", "[V100R001C15]"},
    {"toolkit.version", "9.0.0", "8.0.RC3"}};
const result::PackageFit kMisfit{"does_not_fit",
                                 "driver 24.1 and toolkit 9.0.0 do not belong together"};

TEST(Environment, IsTheCauseOfWhatNothingElseExplains) {
  result::Run run = run_with_cosine(0.91);
  run.circumstances.changes = kUpgrade;
  run.findings = {accused("operator", "", 0.95)};
  explain_whole(run, true);
  ASSERT_EQ(run.findings.size(), 2U);
  const result::Finding& finding = run.findings.front();
  EXPECT_EQ(finding.cause, "environment");
  EXPECT_EQ(finding.operator_name, "");  // nobody is accused
  EXPECT_GE(finding.confidence, run.findings[1].confidence);
  EXPECT_GE(numbers_in(finding), 2);
  EXPECT_THAT(text_of(finding), HasSubstr("firmware 7.8.0 instead of 7.5.0"));
  EXPECT_THAT(text_of(finding), HasSubstr("toolkit 9.0.0 instead of 8.0.RC3"));
  EXPECT_THAT(text_of(finding), HasSubstr("it shows first in conv1"));
  EXPECT_FALSE(finding.advice.empty());
}

TEST(Environment, StandsBehindWhatTheDataShow) {
  for (const auto& [cause, detail] : {std::pair("overflow", ""),
                                      {"inputs_differ", "channels_reversed"},
                                      {"operator", "missing:Relu"},
                                      {"weights", "scale:1.03"}}) {
    result::Run run = run_with_cosine(0.91);
    run.circumstances.changes = kUpgrade;
    run.circumstances.fits = {kMisfit};
    run.findings = {accused(cause, detail, 0.9)};
    explain_whole(run, true);
    ASSERT_EQ(run.findings.size(), 2U) << cause;
    EXPECT_EQ(run.findings.front().cause, cause);
    EXPECT_EQ(run.findings[1].cause, "environment") << cause;
  }
}

TEST(Environment, TellsPackagesThatDoNotFit) {
  result::Run run = run_with_cosine(0.91);
  run.circumstances.changes = kUpgrade;
  run.circumstances.fits = {kMisfit};
  run.findings = {accused("accumulated", "", 0.8, "")};
  explain_whole(run, true);
  EXPECT_EQ(run.findings.front().cause, "environment");
  EXPECT_DOUBLE_EQ(run.findings.front().confidence, 0.85);
  EXPECT_THAT(text_of(run.findings.front()), HasSubstr("do not belong together"));
  EXPECT_THAT(run.findings.front().advice, HasSubstr("install versions that name each other"));
}

// A model that moves from one platform to another has other versions by design.
TEST(Environment, OtherPlatformsHaveOtherVersions) {
  result::Run run = run_with_cosine(0.91);
  run.golden.convention = "named-npy";
  run.circumstances.changes = kUpgrade;
  explain_whole(run, true);
  EXPECT_THAT(run.findings, IsEmpty());
  run.circumstances.fits = {kMisfit};  // what does not fit is worth telling, behind the rest
  run.findings = {accused("operator", "", 0.9)};
  explain_whole(run, true);
  ASSERT_EQ(run.findings.size(), 2U);
  EXPECT_EQ(run.findings[1].cause, "environment");
}

// Tools that dump on every platform alike: then the packages tell.
TEST(Environment, ADriverOnOneSideIsAnotherPlatform) {
  result::Run run = run_with_cosine(0.91, "msprobe");
  run.circumstances.changes = {{"driver.Version", "24.1", ""}, {"toolkit.version", "8.0", ""}};
  explain_whole(run, true);
  EXPECT_THAT(run.findings, IsEmpty());
}

TEST(Environment, IsSilentWhereNothingDiffersOrNothingChanged) {
  result::Run run = run_with_cosine(1);
  run.circumstances.changes = kUpgrade;
  run.circumstances.fits = {kMisfit};
  explain_whole(run, false);
  EXPECT_THAT(run.findings, IsEmpty());
  run = run_with_cosine(0.9);
  run.circumstances.fits = {{"fits", "driver and toolkit belong together"}};
  explain_whole(run, true);
  EXPECT_THAT(run.findings, IsEmpty());
}

TEST(Environment, ProcessorAndVariablesWeighLess) {
  result::Run run = run_with_cosine(0.9, "plumb-dump");
  run.circumstances.changes = {{"machine.processor", "A", "B"}};
  explain_whole(run, true);
  ASSERT_EQ(run.findings.size(), 1U);
  EXPECT_LT(run.findings[0].confidence, 0.5);
}

struct StageCase {
  const char* name;
  std::optional<double> original, quantized, offline;
  const char* details;  // of the findings, in order
};
const StageCase kStages[] = {
    {"one point is acceptable", 0.76, 0.75, {}, ""},
    {"in binary, too", 0.711, 0.701, {}, ""},
    {"better than before", 0.70, 0.72, 0.73, ""},
    {"more than one point", 0.76, 0.7499, {}, "stage:quantization"},
    {"three points", 0.76, 0.73, {}, "stage:quantization"},
    {"quantization fine, conversion not", 0.76, 0.755, 0.70, "stage:conversion"},
    {"conversion alone", {}, 0.755, 0.70, "stage:conversion"},
    {"both", 0.76, 0.74, 0.70, "stage:conversion stage:quantization"},
    {"each acceptable, together not", 0.76, 0.752, 0.744, "stage:both"},
    {"nobody knows the middle", 0.76, {}, 0.70, "stage:unknown"},
    {"all acceptable", 0.76, 0.757, 0.755, ""},
    {"not a number", 0.76, std::nan(""), 0.75, ""},
};

TEST(Stages, ByTopN) {
  for (const StageCase& each : kStages) {
    result::Run run = run_with_cosine(0.999);
    run.circumstances.topn_float = each.original;
    run.circumstances.topn_quant = each.quantized;
    run.circumstances.topn_offline = each.offline;
    explain_whole(run, false);
    std::string details;
    for (const result::Finding& finding : run.findings) {
      details += (details.empty() ? "" : " ") + finding.detail;
      EXPECT_GE(numbers_in(finding), 2) << each.name;
      EXPECT_FALSE(finding.advice.empty()) << each.name;
    }
    EXPECT_EQ(details, each.details) << each.name;
  }
}

TEST(Stages, ThreePointsWeighMoreAndFewSamplesLess) {
  const auto confidence = [](double quantized, std::optional<int64_t> samples) {
    result::Run run = run_with_cosine(0.999);
    run.circumstances.topn_float = 0.76;
    run.circumstances.topn_quant = quantized;
    run.circumstances.topn_samples = samples;
    explain_whole(run, false);
    return run.findings.empty() ? 0 : run.findings.front().confidence;
  };
  EXPECT_EQ(confidence(0.751, {}), 0);
  EXPECT_GT(confidence(0.74, {}), 0.5);
  EXPECT_GT(confidence(0.73, {}), confidence(0.7301, {}));
  EXPECT_LT(confidence(0.73, 500), confidence(0.73, 10000));
  EXPECT_EQ(confidence(0.73, 10000), confidence(0.73, {}));
}

TEST(Stages, ConversionSaysNodeAccumulatedOrFused) {
  const auto advice = [](std::vector<result::Finding> found, bool is_fused) {
    result::Run run = run_with_cosine(0.9);
    run.circumstances.topn_quant = 0.76;
    run.circumstances.topn_offline = 0.70;
    run.findings = std::move(found);
    if (is_fused)
      run.network = std::make_shared<result::Network>(
          result::Network{{{"conv1relu1", "Conv2D", {"conv1", "relu1"}, false}}, {}});
    explain_whole(run, true);
    for (const result::Finding& finding : run.findings)
      if (finding.rule == "conversion-stage") return finding.advice;
    return std::string();
  };
  EXPECT_THAT(advice({accused("operator", "", 0.8, "conv2")}, false), HasSubstr("in conv2"));
  EXPECT_THAT(advice({accused("accumulated", "", 0.8, "")}, false), HasSubstr("many operators"));
  EXPECT_THAT(advice({accused("operator", "", 0.8, "conv2")}, true), HasSubstr("fusion off"));
}

struct CalibrationCase {
  int64_t size;
  double quantized;
  bool differs;
  bool is_found;
};
const CalibrationCase kCalibrations[] = {
    {9, 0.70, false, true},   {10, 0.70, false, false}, {100, 0.70, false, false},
    {101, 0.70, false, true}, {9, 0.755, true, false},  // top-N says that nothing is wrong
    {0, 0.70, false, true},
};

TEST(CalibrationSet, TenToAHundredSamples) {
  for (const CalibrationCase& each : kCalibrations) {
    result::Run run = run_with_cosine(0.97);
    run.circumstances.calibration_size = each.size;
    run.circumstances.topn_float = 0.76;
    run.circumstances.topn_quant = each.quantized;
    explain_whole(run, each.differs);
    const auto found =
        std::any_of(run.findings.begin(), run.findings.end(),
                    [](const auto& finding) { return finding.cause == "calibration_set"; });
    EXPECT_EQ(found, each.is_found) << each.size << " at " << each.quantized;
  }
  result::Run run = run_with_cosine(0.97);  // without top-N the tensors decide
  run.circumstances.calibration_size = 3;
  explain_whole(run, false);
  EXPECT_THAT(run.findings, IsEmpty());
  explain_whole(run, true);
  ASSERT_EQ(run.findings.size(), 1U);
  EXPECT_GE(numbers_in(run.findings[0]), 2);
}

}  // namespace
}  // namespace plumb::diagnose
