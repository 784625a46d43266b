// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::msprobe {
namespace {

using testing::ElementsAre;
using Arguments = std::vector<std::string_view>;

TEST(MsprobeCommand, RefusesWhatDoesNotGoTogether) {
  const struct {
    Arguments words;
    const char* what;
  } cases[] = {
      {{}, "which command?"},
      {{"graph"}, "command 'graph' of msprobe is not available"},
      {{"compare", "-tp", "a"}, "-gp is required"},
      {{"compare", "-tp", "a", "-gp", "b", "-m", "npu"}, "mode 'npu' is not available"},
      {{"compare", "-tp", "a", "-gp", "b", "--rank", "0"}, "mode auto knows no option --rank"},
      {{"compare", "-tp", "a", "-gp", "b", "-m", "torchair", "--rank", "x"},
       "'x' is no list of numbers"},
      {{"compare", "-tp", "a", "-gp", "b", "-cm", "c", "-dm", "d"},
       "-dm and -cm both say what belongs together"},
      {{"compare", "-tp", "a", "-gp", "b", "--highlight", "legacy"},
       "--highlight colours rows of a spreadsheet"},
      {{"compare", "-tp", "a", "-gp", "b", "-m", "offline_data", "--xlsx"},
       "mode offline_data knows no option --xlsx"},
      {{"compare", "-tp", "a", "-gp", "b", "--compat", "ours"}, "--compat 'ours' is not known"},
      {{"compare", "-tp", "a", "-gp", "b", "-am", "-lm"},
       "-lm and -am both say what belongs together"},
      {{"merge_result", "-i", "a", "-o", "b"}, "-config is required"},
      {{"overflow_check", "-o", "b"}, "-i is required"},
      {{"parse", "-d", "a", "-t", "pt"}, "type 'pt' is not written"},
  };
  for (const auto& c : cases) {
    const auto refused = request_from(c.words);
    ASSERT_FALSE(refused) << c.what;
    EXPECT_EQ(refused.error().what, c.what);
  }
}

TEST(MsprobeCommand, EachModeHasItsRun) {
  auto general =
      request_from(Arguments{"compare", "-tp", "a", "-gp", "b", "-fm", "--stat-magnitude", "0.5"});
  ASSERT_TRUE(general);
  EXPECT_TRUE(std::get<GeneralRun>(*general).mapping.is_fuzzy);
  EXPECT_EQ(std::get<GeneralRun>(*general).most_magnitude, 0.5);

  auto torchair = request_from(
      Arguments{"compare", "-m", "torchair", "-tp", "a", "-gp", "b", "--rank", "0,3", "-o", "out"});
  ASSERT_TRUE(torchair);
  EXPECT_THAT(std::get<TorchairRun>(*torchair).ranks, ElementsAre(0, 3));
  EXPECT_EQ(std::get<TorchairRun>(*torchair).output, "out");

  auto offline = request_from(
      Arguments{"compare", "-m", "offline_data", "-tp", "a", "-gp", "b", "-fr", "model.json"});
  ASSERT_TRUE(offline);
  EXPECT_EQ(std::get<msaccucmp::NetworkRun>(*offline).rules.rules, "model.json");

  auto merge = request_from(Arguments{"merge_result", "-i", "a", "-o", "b", "-config", "c"});
  ASSERT_TRUE(merge);
  EXPECT_EQ(std::get<MergeRun>(*merge).config, "c");
}

TEST(MsprobeCommand, ResultsGoWhereTheManualSays) {
  const auto output = [](Arguments words) {
    for (std::string_view word : {"-tp", "a", "-gp", "b"}) words.push_back(word);
    auto request = request_from(words);
    EXPECT_TRUE(request);
    return std::visit(
        [](const auto& run) -> std::filesystem::path {
          if constexpr (requires { run.output; }) return run.output;
          return {};
        },
        *request);
  };
  EXPECT_EQ(output({"compare"}), "./output");
  EXPECT_EQ(output({"compare", "-o"}), "./output");
  EXPECT_EQ(output({"compare", "-o", "there"}), "there");
  EXPECT_EQ(output({"compare", "-m", "torchair"}), ".");
  EXPECT_EQ(output({"compare", "-m", "offline_data"}), "./output");
}

TEST(MsprobeCommand, TakesWhatChangesNothing) {
  auto request = request_from(Arguments{"-f", "pytorch", "compare", "-tp", "a", "-gp", "b",
                                        "-tensor_log", "-s", "-c", "--backend", "fsdp"});
  ASSERT_TRUE(request) << request.error().what;
  EXPECT_EQ(std::get<GeneralRun>(*request).notes.size(), 4U);
  request = request_from(Arguments{"compare", "-tp", "a", "-gp", "b"});
  EXPECT_TRUE(std::get<GeneralRun>(*request).notes.empty());
  EXPECT_FALSE(request_from(Arguments{"compare", "-tp", "a", "-gp", "b", "--consistent_check"}));
}

TEST(MsprobeCommand, CellsAndApisMayBothBeMapped) {
  auto request =
      request_from(Arguments{"compare", "-tp", "a", "-gp", "b", "-cm", "c.yaml", "-am", "a.yaml"});
  ASSERT_TRUE(request) << request.error().what;
  EXPECT_EQ(std::get<GeneralRun>(*request).mapping.cell, "c.yaml");
  EXPECT_EQ(std::get<GeneralRun>(*request).mapping.api, "a.yaml");
}

TEST(MsprobeCommand, OwnCommandsHaveItsOptions) {
  auto overflow = request_from(Arguments{"overflow_check", "-i", "step0"});
  ASSERT_TRUE(overflow);
  EXPECT_EQ(std::get<OwnCommand>(*overflow).words[1], "step0");
  EXPECT_EQ(std::get<OwnCommand>(*overflow).directory, "./output");
  auto parse = request_from(Arguments{"parse", "-d", "dump", "-t", "npy", "-o", "out"});
  ASSERT_TRUE(parse);
  EXPECT_THAT(std::get<OwnCommand>(*parse).words, ElementsAre("convert", "dump", "-o", "out"));
}

TEST(MsprobeCommand, SaysTotalsUnderTheFiles) {
  Written written;
  written.files = {"a.csv"};
  written.pass = 2;
  written.fail = 1;
  EXPECT_EQ(text_of(written, 0, false), "a.csv\n2 PASS, 1 FAIL, 0 not compared\n");
  EXPECT_EQ(text_of(written, 0, true),
            "a.csv\n\033[32m2 PASS\033[0m, \033[31m1 FAIL\033[0m, 0 not compared\n");
  written.compared = 3;
  EXPECT_EQ(text_of(written, 0, false), "a.csv\n3 compared, 0 not\n");
  written.first.emplace();
  EXPECT_EQ(text_of(written, 0, false), "no output could be compared\n");
  written.first->compared = 4;
  EXPECT_EQ(text_of(written, 0, false),
            "no output of a call differs by more than half in one of its statistics\n");
  written.first->by_checksum = true;
  written.first->unmatched = 1;
  EXPECT_EQ(text_of(written, 0, false),
            "no output of a call has another checksum; 1 output of target has no counterpart\n");
  written.first->calls.push_back({3, "Torch.mul.0.forward"});
  written.first->unmatched = 2;
  EXPECT_EQ(text_of(written, 0, false),
            "first difference of rank 3: Torch.mul.0.forward\n2 outputs of target have no "
            "counterpart\n");
}

}  // namespace
}  // namespace plumb::msprobe
