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

// The line of titles above the rows.
size_t titles_at(const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].starts_with("verdict ")) return i;
  ADD_FAILURE() << "no table";
  return 0;
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
  const std::string titles = lines_of(text)[titles_at(lines_of(text))];
  for (const char* title : {"verdict", "operator", "slot", "reason"})
    EXPECT_THAT(titles, HasSubstr(title));
  EXPECT_THAT(text, HasSubstr("first divergence: res5a_branch2a/BatchNorm output:0"));
}

TEST(Terminal, WideOnesShowNumbers) {
  const auto titles_of = [](const std::string& text) {
    return lines_of(text)[titles_at(lines_of(text))];
  };
  const std::string titles = titles_of(render(failing_run(), {200}));
  for (const char* title : {"cosine", "rel_euclid", "max_abs", "max_rel", "shape", "dtype"})
    EXPECT_THAT(titles, HasSubstr(title));
  TerminalStyle style;
  style.metrics = {"target_nan"};
  EXPECT_THAT(titles_of(render(failing_run(), style)), HasSubstr("target_nan"));
  EXPECT_THAT(titles_of(render(failing_run(), style)), Not(HasSubstr("cosine")));
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
  const size_t first = titles_at(lines) + 1;
  EXPECT_THAT(lines[first], HasSubstr("✓ pass"));
  EXPECT_THAT(lines[first], HasSubstr("conv1/Conv2D"));
  EXPECT_THAT(lines[first], HasSubstr("conv1/relu"));  // golden's name, where it differs
  EXPECT_THAT(lines[first + 20], HasSubstr("label"));
  for (const std::string& line : lines) EXPECT_THAT(line, Not(HasSubstr(" filtered  ")));
}

result::Run run_with_culprit() {
  auto run = sample_run();
  for (int i = 0; i < 60; ++i) {
    const bool fails = i >= 30;
    run.rows.push_back(
        paired(fmt::format("op{:02}", i), fails ? Verdict::kFail : Verdict::kPass,
               fails ? values(0.9 - 0.001 * i, 0.4, 1, 1) : values(1, 0, 0, 0),
               fails ? std::vector<std::string>{"limit:cosine"} : std::vector<std::string>{}));
  }
  run.rows.back().is_model_output = true;
  result::Finding finding;
  finding.rule = finding.cause = "operator";
  finding.operator_name = "op30";
  finding.confidence = 0.9;
  finding.evidence = {{"relative error 0.4", 30, "rel_euclid", 0.4}};
  finding.advice = "Look at it.";
  finding.next = "plumb inspect npu/ --stats --op op30";
  run.findings = {finding};
  return run;
}

// The answer first: verdicts, symptom, culprit with its numbers, what to do; then the rows around
// the culprit in order of execution, not those with the lowest cosine.
TEST(Terminal, TheAnswerComesFirst) {
  const auto lines = lines_of(render(run_with_culprit(), {80}));
  const std::vector<std::string> starts = {
      "FAIL  30 of 60 compared tensors differ",
      "  outputs   1 of 1 differs; inside the model: 29",
      "  symptom   the outputs are very different (op59: cosine 0.841)",
      "  culprit   op30: the operator computes something else",
      "            relative error 0.4",
      "  advice    Look at it.",
      "  next      $ plumb inspect npu/ --stats --op op30"};
  for (size_t i = 0; i < starts.size(); ++i)
    EXPECT_TRUE(lines[i].starts_with(starts[i])) << i << ": " << lines[i];
  const size_t first = titles_at(lines) + 1;
  for (int i = 0; i < 33; ++i)
    EXPECT_THAT(lines[first + static_cast<size_t>(i)], HasSubstr(fmt::format(" op{} ", 27 + i)));
  EXPECT_THAT(lines[first + 3], HasSubstr(" op30 ◄ "));
  EXPECT_THAT(lines[first], HasSubstr("✓ pass"));
}

TEST(Terminal, HintsOnlyIfAsked) {
  auto run = run_with_culprit();
  run.rows.back().hint = "would pass with cosine >= 0.84";
  EXPECT_THAT(render(run, {80}), Not(HasSubstr("would pass")));
  TerminalStyle style;
  style.hints = true;
  EXPECT_THAT(render(run, style), HasSubstr("would pass with cosine >= 0.84"));
}

// What is told in words loses words, not letters.
TEST(Terminal, WordsAreNotCut) {
  auto run = run_with_culprit();
  for (result::Row& row : run.rows.all())
    if (row.verdict == Verdict::kFail)
      row.message = "cosine is below 0.99999; relative distance is above 0.001; more of the same";
  const std::string whole = run.rows.back().message + " ";
  size_t cuts = 0;
  for (size_t width = 130; width < 190; ++width) {
    const std::string text = render(run, {width});
    std::smatch cut;
    if (!std::regex_search(text, cut, std::regex("(cosine is[^\n]*)…\n"))) continue;
    EXPECT_TRUE(whole.starts_with(cut.str(1) + " ")) << width << ": " << cut.str(1);
    ++cuts;
  }
  EXPECT_GT(cuts, 0U);
}

TEST(Terminal, SymptomsHaveTheirNames) {
  auto run = run_with_culprit();
  run.rows.back().values = values(0.9995, 0.03, 1, 1);
  run.findings.clear();
  EXPECT_THAT(render(run, {}), HasSubstr("symptom   the outputs are slightly different (op59: "));
  run.rows.back().values = values(0.944, 0.33, 1, 1);  // what eight bits may cost
  EXPECT_THAT(render(run, {}), HasSubstr("symptom   the outputs are slightly different (op59: "));
  run.scenario = "npu-vs-npu";
  EXPECT_THAT(render(run, {}), HasSubstr(" after an upgrade: usually driver"));
  run.rows.back().reasons = {"nan_only_in_target"};
  EXPECT_THAT(render(run, {}),
              HasSubstr("the outputs are very different (op59: nan_only_in_target)"));
  run.rows.back().verdict = Verdict::kPass;
  run.rows.back().reasons.clear();
  EXPECT_THAT(render(run, {}), HasSubstr("symptom   none in the outputs; if the application"));
  run.rows.back().is_model_output = false;
  EXPECT_THAT(render(run, {}), Not(HasSubstr("symptom")));
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
