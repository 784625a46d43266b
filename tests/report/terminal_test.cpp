// SPDX-License-Identifier: Apache-2.0
#include "report/terminal.h"

#include <fstream>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_runs.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Terminal, AgreesWithItsGoldenFiles) {
  for (const NamedRun& sample : sample_runs())
    for (const size_t width : {0, 60, 80, 120}) {
      const std::string file = fmt::format("{}.{}.txt", sample.name, width);
      std::ifstream stream(std::string(PLUMB_TEST_DATA) + "/report/" + file);
      if (!stream) continue;
      std::stringstream golden;
      golden << stream.rdbuf();
      EXPECT_EQ(render(sample.run, {width}), golden.str()) << file;
    }
}

// Whatever the names: no line is wider than the terminal, but for commands to copy and single words
// that have no place to break.
TEST(Terminal, KeepsToItsWidth) {
  for (const NamedRun& sample : sample_runs())
    for (const size_t width : {60, 80, 100, 120, 160, 200})
      for (const std::string& line : lines_of(render(sample.run, {width}))) {
        if (line.starts_with("            $ ")) continue;
        EXPECT_LE(display_width(line), width) << sample.name << ": " << line;
      }
}

TEST(Terminal, NarrowOnesShowTheEssentials) {
  const std::string text = render(failing_run(), {60});
  const std::string titles = lines_of(text)[0];
  for (const char* title : {"verdict", "operator", "slot", "reason"})
    EXPECT_THAT(titles, HasSubstr(title));
  EXPECT_THAT(text, HasSubstr("first divergence: res5a_branch2a/BatchNorm output:0"));
}

TEST(Terminal, WideOnesShowNumbers) {
  const std::string titles = lines_of(render(failing_run(), {200}))[0];
  for (const char* title : {"cosine", "rel_euclid", "max_abs", "max_rel", "shape", "dtype"})
    EXPECT_THAT(titles, HasSubstr(title));
  TerminalStyle style;
  style.metrics = {"target_nan"};
  EXPECT_THAT(lines_of(render(failing_run(), style))[0], HasSubstr("target_nan"));
  EXPECT_THAT(lines_of(render(failing_run(), style))[0], Not(HasSubstr("cosine")));
}

TEST(Terminal, HoldsNoControlCharacters) {
  const std::string plain = render(hostile_run(), {});
  for (const char c : plain) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  // With colours, the sequences are ours; without them the text is the same.
  const std::string coloured = render(hostile_run(), {.colour = true});
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\033\\[[0-9;]+m"), ""), plain);
}

TEST(Terminal, ColoursSayTheVerdict) {
  const std::string text = render(failing_run(), {.colour = true});
  EXPECT_THAT(text, HasSubstr("\033[31m✗ fail"));
  EXPECT_THAT(text, HasSubstr("\033[33m? inconclusive"));
  EXPECT_THAT(text, HasSubstr("\033[90m- not compared"));
  EXPECT_THAT(text, HasSubstr("\033[1;31mFAIL\033[0m"));
  EXPECT_THAT(render(passing_run(), {.colour = true}), HasSubstr("\033[1;32mPASS\033[0m"));
}

TEST(Terminal, StopsAtFortyRows) {
  auto run = sample_run();
  for (int i = 0; i < 100; ++i)
    run.rows.push_back(paired(fmt::format("op{:02}", i), Verdict::kFail, {}, {"shape_mismatch"}));
  const std::string text = render(run, {});
  EXPECT_THAT(text, HasSubstr("op39 "));
  EXPECT_THAT(text, Not(HasSubstr("op40 ")));
  EXPECT_THAT(text, HasSubstr("... and 60 more; --all shows them\n"));
  const std::string all = render(run, {.all = true});
  EXPECT_THAT(all, HasSubstr("op99 "));
  EXPECT_THAT(all, Not(HasSubstr("more; --all")));
}

TEST(Terminal, AllRowsInOrderOfExecution) {
  const auto lines = lines_of(render(failing_run(), {.all = true}));
  EXPECT_THAT(lines[1], HasSubstr("✓ pass"));
  EXPECT_THAT(lines[1], HasSubstr("conv1/Conv2D"));
  EXPECT_THAT(lines[1], HasSubstr("conv1/relu"));  // the golden operator's name, where it differs
  EXPECT_THAT(lines[21], HasSubstr("label"));
  for (const std::string& line : lines) EXPECT_THAT(line, Not(HasSubstr(" filtered  ")));
}

TEST(Terminal, TotalsAddUp) {
  const std::regex kTotals(
      R"(rows +(\d+) = (\d+) pass \+ (\d+) fail(?: \+ (\d+) inconclusive)?(?: \+ (\d+) not compared)?)");
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::string text = render(random_run(seed), {});
    std::smatch found;
    ASSERT_TRUE(std::regex_search(text, found, kTotals)) << text;
    int64_t sum = 0;
    for (size_t i = 2; i < found.size(); ++i) sum += found[i].matched ? std::stoll(found[i]) : 0;
    EXPECT_EQ(sum, std::stoll(found[1]));
    EXPECT_THAT(text, HasSubstr("coverage "));
  }
}

TEST(Terminal, CommandsQuoteNames) {
  const std::pair<const char*, const char*> kCases[] = {
      {"conv1/relu", "$ plumb inspect npu/ --stats --op conv1/relu\n"},
      {"it's", "$ plumb inspect npu/ --stats --op 'it'\\''s'\n"},
      {"a b", "$ plumb inspect npu/ --stats --op 'a b'\n"},
      {"x[0]", "$ plumb inspect npu/ --stats --op 'x\\[0]'\n"},
      {"$(reboot)", "$ plumb inspect npu/ --stats --op '$(reboot)'\n"},
  };
  for (const auto& [name, expected] : kCases) {
    auto run = sample_run();
    run.rows = {paired(name, Verdict::kFail, {}, {"shape_mismatch"})};
    EXPECT_THAT(render(run, {}), HasSubstr(expected));
  }
  for (const char* name : {"new\nline", "-rf", ""}) {  // cannot be copied: no command at all
    auto run = sample_run();
    run.rows = {paired(name, Verdict::kFail, {}, {"shape_mismatch"})};
    EXPECT_THAT(render(run, {}), Not(HasSubstr("$ plumb")));
  }
}

}  // namespace
}  // namespace plumb::report
