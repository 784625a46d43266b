// SPDX-License-Identifier: Apache-2.0
#include "diagnose/converter_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::diagnose {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

result::Run run_with(const std::string& cause, const std::string& op = "conv1relu1") {
  result::Run run;
  auto network = std::make_shared<result::Network>();
  network->nodes = {{"conv1relu1", "Conv2D", {"conv1", "relu1"}, false}};
  run.network = network;
  result::Row row;
  row.target = result::Side{"conv1relu1", "Conv2D", "output:0", "float16", {}, {}, {}};
  row.golden = result::Side{"relu1", "Relu", "output:0", "float32", {}, {}, {}};
  row.node = 0;
  run.rows = {row};
  result::Finding finding;
  finding.cause = cause;
  finding.operator_name = op;
  run.findings = {finding};
  return run;
}

std::vector<std::string> file_names(const std::vector<ConverterFile>& files) {
  std::vector<std::string> list;
  for (const ConverterFile& file : files) list.push_back(file.name);
  return list;
}

TEST(ConverterFiles, TurnFusionOff) {
  const auto files = converter_files(run_with("fusion"));
  ASSERT_THAT(file_names(files), ElementsAre("fusion_switch.cfg", "fusion_off.sh"));
  EXPECT_EQ(
      files[0].text,
      "{\"Switch\": {\"GraphFusion\": {\"ALL\": \"off\"}, \"UBFusion\": {\"ALL\": \"off\"}}}\n");
  EXPECT_THAT(files[1].text, HasSubstr("--fusion_switch_file=\"$here/fusion_switch.cfg\""));
}

// Names are those of the original model, types those of the converted one.
TEST(ConverterFiles, KeepTypes) {
  for (const char* cause : {"overflow", "precision_mode", "saturation"}) {
    const auto files = converter_files(run_with(cause));
    ASSERT_THAT(file_names(files), ElementsAre("keep_dtype.cfg", "keep_dtype.sh", "mixlist.json",
                                               "mixlist.sh", "origin.sh"));
    EXPECT_EQ(files[0].text, "conv1\nrelu1\n");
    EXPECT_THAT(files[1].text, HasSubstr("--precision_mode_v2=fp16 --keep_dtype="));
    EXPECT_EQ(files[2].text,
              "{\n    \"black-list\": {\n        \"to-add\": [\n            \"Conv2D\"\n        ]\n"
              "    }\n}\n");
    EXPECT_THAT(files[3].text, HasSubstr("--precision_mode_v2=mixed_float16 --modify_mixlist="));
    EXPECT_THAT(files[4].text, HasSubstr("--precision_mode_v2=origin"));
  }
}

TEST(ConverterFiles, AreOfFindingsAboutTheConversion) {
  EXPECT_THAT(converter_files(run_with("inputs_differ")), IsEmpty());
  EXPECT_THAT(converter_files(run_with("overflow", "nobody")), IsEmpty());
  result::Run hostile = run_with("overflow");
  hostile.network = nullptr;
  hostile.rows[0].golden->operator_name = "a\nOpType::Add";  // no second line
  EXPECT_THAT(file_names(converter_files(hostile)),
              ElementsAre("mixlist.json", "mixlist.sh", "origin.sh"));
}

}  // namespace
}  // namespace plumb::diagnose
