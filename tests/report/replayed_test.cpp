// SPDX-License-Identifier: Apache-2.0
#include "report/replayed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_runs.h"

namespace plumb::report {
namespace {

using result::Blame;
using result::Replayed;
using testing::AllOf;
using testing::HasSubstr;

Replayed replayed(Verdict total, Verdict inherited, Verdict own) {
  Replayed replayed;
  replayed.operators = {{"conv1", "Conv", true}, {"relu1", "Relu", false}};
  replayed.inputs = {
      {"it's", "data output:0", "float32", {1, 3}, "golden_inputs/x.npy", "target_inputs/x.npy"}};
  replayed.columns = sample_run().metrics;
  const auto add = [&](const char* title, Verdict verdict) {
    replayed.errors.push_back(
        {title, "relu1 output:0",
         paired("relu1", verdict, values(0.9, kNan, 0.25, 1), {}, "too far")});
  };
  add("total", total);
  add("inherited", inherited);
  add("own", own);
  replayed.engine = "ONNX Runtime 1.21.0";
  replayed.target = "npu/";
  replayed.golden = "npy/";
  replayed.profile = "standard";
  return replayed;
}

TEST(Replayed, WhoIsToBlame) {
  constexpr auto kPass = Verdict::kPass, kFail = Verdict::kFail, kOpen = Verdict::kInconclusive;
  const struct {
    Verdict total, inherited, own;
    Blame blame;
    const char *heading, *word;
  } kCases[] = {
      {kPass, kPass, kPass, Blame::kNobody, "NO ERROR", "none"},
      {kFail, kPass, kFail, Blame::kOperator, "INTRODUCED HERE", "introduced"},
      {kFail, kPass, kOpen, Blame::kOperator, "INTRODUCED HERE", "introduced"},
      {kFail, kFail, kPass, Blame::kInputs, "INHERITED", "inherited"},
      {kFail, kFail, kFail, Blame::kBoth, "BOTH", "both"},
      {kFail, kPass, kPass, Blame::kSum, "ADDS UP", "sum"},
  };
  for (const auto& c : kCases) {
    const Replayed one = replayed(c.total, c.inherited, c.own);
    EXPECT_EQ(one.blame(), c.blame);
    EXPECT_THAT(render(one, 0), HasSubstr(std::string("\n") + c.heading + "  conv1 (Conv) and 1 "));
    EXPECT_THAT(readme_of(one), HasSubstr(std::string("\n\n") + c.heading + ": "));
    EXPECT_THAT(json_of(one), HasSubstr(std::string("\"verdict\": \"") + c.word + "\",\n"));
  }
}

TEST(Replayed, Numbers) {
  const Replayed one = replayed(Verdict::kFail, Verdict::kPass, Verdict::kFail);
  EXPECT_THAT(render(one, 0),
              AllOf(HasSubstr("own        relu1 output:0     0.9         nan     0.25  fail\n"),
                    HasSubstr("  limits    relu1 output:0: too far\n"),
                    HasSubstr("  fused     the target has no tensors between conv1 (Conv), relu1 "),
                    HasSubstr("  replay    ONNX Runtime 1.21.0; golden inputs reproduce the golden "
                              "output bit for bit\n")));
  EXPECT_THAT(readme_of(one),
              AllOf(HasSubstr("| own | relu1 output:0 | 0.9 | nan | 0.25 | fail |\n"),
                    HasSubstr("-o again --input 'it'\\''s'=target_inputs/x.npy\n"),
                    HasSubstr("    \"it's\": numpy.load(\"target_inputs/x.npy\"),\n")));
  EXPECT_THAT(json_of(one),
              AllOf(HasSubstr("\"cosine\": 0.9,"), HasSubstr("\"rel_euclid\": null")));
}

}  // namespace
}  // namespace plumb::report
