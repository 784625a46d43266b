// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/trees.h"

namespace plumb::msaccucmp {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string_view>;

// What a command said.
struct Said {
  std::string text;
  std::vector<std::string> warnings, errors;

  Console console() {
    return {[this](std::string_view words) { text += words; },
            [this](std::string_view words) { warnings.emplace_back(words); },
            [this](const Error& error) { errors.push_back(error.what); }};
  }
};

TEST(MsaccucmpCommand, FaultsCarryTheStatusOfTheTool) {
  const struct {
    Words words;
    Code code;
    const char* what;
  } cases[] = {
      {{"compares"}, Code::kUsage, "unknown command 'compares'"},
      {{"compare", "-m", "a"}, Code::kUsage, "-g is required"},
      {{"compare", "-m", "a", "-g", "b", "-v", "3"}, Code::kUsage, "-v is 1 or 2"},
      {{"compare", "-m", "a", "-g", "b", "-map", "-op", "x"},
       Code::kInvalidParameter,
       "-map cannot be used with -op"},
      {{"convert", "-d", "/nowhere"}, Code::kInvalidPath, "no such file"},
      {{"convert", "-d", "/nowhere", "-t", "pt"},
       Code::kInvalidParameter,
       "type pt needs PyTorch and is not written"},
      {{"overflow", "-d", "/nowhere", "-out", "x", "-n", "9"}, Code::kUsage, "-n is out of range"},
      {{"advisor", "-i", "a.txt"}, Code::kInvalidParameter, "a .csv file is wanted"},
      {{"file_compare", "-m", "a.bin", "-g", "b.npy", "-out", "x"},
       Code::kFileType,
       "only .npy files are compared"},
  };
  for (const auto& c : cases) {
    Said said;
    RunContext context;
    const auto outcome = run(c.words, said.console(), context);
    ASSERT_FALSE(outcome) << c.what;
    EXPECT_EQ(outcome.fault().code, c.code) << c.what;
    EXPECT_EQ(outcome.fault().error.what, c.what);
    EXPECT_EQ(said.text, "");
  }
}

TEST(MsaccucmpCommand, HelpIsPrinted) {
  Said said;
  RunContext context;
  const auto outcome = run(Words{"convert", "--help"}, said.console(), context);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, 0);
  EXPECT_THAT(said.text, StartsWith("Decode dump files to npy or bin.\n\nusage: plumb msaccucmp"));
}

TEST(MsaccucmpCommand, ComparesTwoFilesAndSaysWhereTheResultIs) {
  dump::Scratch scratch;
  scratch.npy("a.npy", {1, 2, 3});
  const std::string file = (scratch.root() / "a.npy").string();
  const std::string output = (scratch.root() / "out").string();
  Said said;
  RunContext context;
  const auto outcome =
      run(Words{"file_compare", "-m", file, "-g", file, "-out", output}, said.console(), context);
  ASSERT_TRUE(outcome);
  EXPECT_THAT(said.text, HasSubstr("CosineSimilarity: 1"));
  EXPECT_THAT(said.text, HasSubstr("written: " + output + "/file_result_"));
}

}  // namespace
}  // namespace plumb::msaccucmp
