// SPDX-License-Identifier: Apache-2.0
//
// Answers files that people, and others, write.
#include "guide/answers.h"

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guide/walk.h"
#include "scratch.h"

namespace plumb::guide {
namespace {

using testing::HasSubstr;

struct HostileCase {
  const char* name;
  std::string text;
  const char* what;  // of the error
};
const HostileCase kHostile[] = {
    {"not TOML", "problem = ", ""},
    {"nobody asks", "colour = \"red\"", "nobody asks for 'colour'"},
    {"nearly a key", "topn_flaot = 76", "nobody asks for 'topn_flaot'"},
    {"a table", "[target]\npath = \"x\"", "target is no answer but a table or list"},
    {"a list", "target = [\"a\", \"b\"]", "target is no answer but a table or list"},
    {"a date", "target = 2026-01-01", "target is no answer but a table or list"},
    {"no choice", "problem = \"caffe\"", "'caffe' does not answer problem"},
    {"no share", "topn_float = \"many\"", "'many' does not answer topn_float"},
    {"beyond 100 %", "topn_float = 101", "'101' does not answer topn_float"},
    {"not a number", "topn_float = nan", "'nan' does not answer topn_float"},
    {"no count", "calibration_size = -3", "'-3' does not answer calibration_size"},
    {"half a sample", "calibration_size = 3.5", "'3.5' does not answer calibration_size"},
    {"neither yes nor no", "upgraded = \"perhaps\"", "'perhaps' does not answer upgraded"},
    {"a path with an end in it", "target = \"a\\u0000b\"", "does not answer target"},
    {"a very long path", "target = \"" + std::string(5000, 'a') + "\"", "the answer is too long"},
    {"deep", "target = " + std::string(5000, '['), ""},
    {"twice", "target = \"a\"\ntarget = \"b\"", ""},
    {"no UTF-8", "target = \"\xff\xfe\"", ""},
    {"two megabytes", std::string(2 << 20, '#'), "these are no answers"},
};

TEST(Answers, HostileFilesAreErrors) {
  for (const HostileCase& each : kHostile) {
    const auto answers = answers_from_toml(each.text);
    ASSERT_FALSE(answers) << each.name;
    EXPECT_THAT(answers.error().what, HasSubstr(each.what)) << each.name;
    EXPECT_LT(answers.error().where.size(), 300U) << each.name;
  }
}

TEST(Answers, ErrorsNameTheKeyAndTheLine) {
  const auto answers = answers_from_toml("\n\nproblem = \"nqu\"\n");
  ASSERT_FALSE(answers);
  EXPECT_THAT(answers.error().where, HasSubstr("line 3"));
  EXPECT_THAT(answers.error().remedy, HasSubstr("did you mean 'npu'?"));
  EXPECT_THAT(answers.error().remedy, HasSubstr("traditional, quantized, npu or axera"));
}

TEST(Answers, NumbersWordsAndFlagsAreTakenAsTyped) {
  const auto answers = answers_from_toml(
      "topn_float = 76.1\ntopn_quant = \"75%\"\ncalibration_size = 32\nupgraded = true\n"
      "task_ok = \"n\"\ntarget = \"unknown\"\ngolden = \"\"\n");
  ASSERT_TRUE(answers) << answers.error().what;
  EXPECT_EQ(answers->known("topn_float"), "76.1");
  EXPECT_EQ(answers->known("topn_quant"), "75%");
  EXPECT_EQ(answers->known("calibration_size"), "32");
  EXPECT_EQ(answers->known("upgraded"), "yes");
  EXPECT_EQ(answers->known("task_ok"), "no");
  for (const char* key : {"target", "golden"}) {  // answered: nobody knows
    EXPECT_TRUE(answers->has(key));
    EXPECT_EQ(answers->known(key), "");
  }
  EXPECT_FALSE(answers->has("graph"));
}

TEST(Answers, WriteThenReadIsIdentity) {
  Answers answers;
  for (const auto& [key, text] : {std::pair("target", "C:\\dumps\\\"new\"\tone"),
                                  {"golden", "größe/大"},
                                  {"graph", "a b"},
                                  {"topn_float", "0.761"},
                                  {"upgraded", "unknown"},
                                  {"problem", "npu"}})
    ASSERT_TRUE(answers.set(*question_by_key(key), text));
  const auto again = answers_from_toml(to_toml(answers));
  ASSERT_TRUE(again) << again.error().what << again.error().where;
  EXPECT_EQ(again->all(), answers.all());
}

TEST(Steps, TablesHoldTogether) {
  std::set<std::string_view> ids, asked, reached{steps().front().id};
  for (const Step& step : steps()) {
    EXPECT_TRUE(ids.insert(step.id).second) << step.id;
    EXPECT_FALSE(step.title.empty() || step.reason.empty()) << step.id;
    for (const Asked& each : step.asks) {
      EXPECT_NE(question_by_key(each.key), nullptr) << each.key;
      asked.insert(each.key);
    }
    for (const Branch& branch : step.next) {
      EXPECT_NE(step_by_id(branch.next), nullptr) << branch.next;
      reached.insert(branch.next);
    }
  }
  EXPECT_EQ(ids, reached);  // no step that no path leads to
  for (const Question& question : questions())
    EXPECT_TRUE(asked.contains(question.key)) << question.key << " is never asked";
  // Steps with choices have a branch for each, or end there by design.
  for (const Branch& branch : steps().front().next)
    EXPECT_THAT(std::string(question_by_key("problem")->choices),
                HasSubstr(std::string(branch.outcome)));
}

TEST(Steps, DocumentsListEveryKey) {
  std::ifstream file(PLUMB_TEST_DATA "/../../docs/troubleshooting.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const Question& question : questions())
    EXPECT_THAT(page, HasSubstr("| `" + std::string(question.key) + "` |"));
}

TEST(Walk, AMissingAnswerNamesItsKeyAndQuestion) {
  Walk walk;
  RunContext context;
  auto taken = take(walk, {}, context);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().what, HasSubstr("which kind of model"));
  EXPECT_THAT(taken.error().where, HasSubstr("key 'problem', step start"));
  ASSERT_TRUE(walk.answers.set(*question_by_key("problem"), "traditional"));
  taken = take(walk, {}, context);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().where, HasSubstr("key 'target', step traditional.compare"));
}

TEST(Walk, AFileThatIsNotThereNamesItsKey) {
  Walk walk;
  RunContext context;
  for (const auto& [key, text] : {std::pair("problem", "traditional"),
                                  {"target", "/no/such/dump"},
                                  {"golden", "/no/such/dump"}})
    ASSERT_TRUE(walk.answers.set(*question_by_key(key), text));
  const auto taken = take(walk, {}, context);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().where, HasSubstr("target = \"/no/such/dump\""));
}

// Whatever is not known, the walk ends and says what to collect.
TEST(Walk, UnknownAnswersEndInWhatToCollect) {
  for (const char* problem : {"traditional", "quantized", "npu", "axera"}) {
    Walk walk;
    RunContext context;
    for (const Question& question : questions()) ASSERT_TRUE(walk.answers.set(question, "unknown"));
    ASSERT_TRUE(walk.answers.set(*question_by_key("problem"), problem));
    const auto taken = take(walk, {}, context);
    ASSERT_TRUE(taken) << problem << ": " << taken.error().what;
    ASSERT_FALSE(walk.findings.empty()) << problem;
    EXPECT_EQ(walk.findings.front().finding.cause, "unknown") << problem;
    EXPECT_FALSE(walk.findings.front().finding.advice.empty()) << problem;
  }
}

// Asked, complained about, asked again; what was answered is handed over each time.
TEST(Walk, AsksUntilAnAnswerWillDo) {
  Walk walk;
  RunContext context;
  const char* typed[] = {"caffe", "axera", "all"};
  size_t at = 0;
  std::vector<std::string> complaints;
  size_t kept = 0;
  Leader leader;
  leader.ask = [&](const Question&, bool,
                   std::string_view complaint) -> std::optional<std::string> {
    if (!complaint.empty()) complaints.emplace_back(complaint);
    return at < std::size(typed) ? std::optional<std::string>(typed[at++]) : std::nullopt;
  };
  leader.answered = [&](const Answers& answers) { kept = answers.all().size(); };
  const auto taken = take(walk, leader, context);
  ASSERT_TRUE(taken) << taken.error().what;
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_THAT(complaints[0], HasSubstr("does not answer problem"));
  EXPECT_EQ(kept, 2U);
  ASSERT_EQ(walk.path.size(), 2U);
  EXPECT_EQ(walk.path[1].outcome.word, "all");
  EXPECT_EQ(walk.findings.front().finding.rule, "every-platform");
}

// What cannot be measured is noted; the walk goes on without it, and does not end in agreement.
TEST(Walk, AFailedMeasurementIsNoted) {
  const Scratch dir;
  for (const char* name : {"model.onnx", "labels.csv"})
    std::ofstream(dir.path() / name) << "this is no such file\n";
  Walk walk;
  RunContext context;
  const auto answer = [&](const char* key, const std::string& text) {
    ASSERT_TRUE(walk.answers.set(*question_by_key(key), text)) << key;
  };
  answer("problem", "quantized");
  for (const char* key : {"model", "quant_model"}) answer(key, dir.path() / "model.onnx");
  answer("eval_data", dir.path());
  answer("labels", dir.path() / "labels.csv");
  const auto taken = take(walk, {}, context);
  ASSERT_TRUE(taken) << taken.error().what;
  ASSERT_GE(walk.path.size(), 3U);
  EXPECT_EQ(walk.path[1].step->id, "quantized.topn");
  ASSERT_EQ(walk.path[1].failures.size(), 1U);  // once, although two questions would need it
  EXPECT_THAT(walk.path[1].failures[0], HasSubstr("model.onnx"));
  EXPECT_EQ(walk.path[1].outcome.word, "unknown");
  ASSERT_FALSE(walk.findings.empty());
  const result::Finding& finding = walk.findings.front().finding;
  EXPECT_EQ(finding.cause, "unknown");
  ASSERT_EQ(finding.evidence.size(), 2U);
  EXPECT_EQ(finding.evidence[1].text, "failed: " + walk.path[1].failures[0]);
}

TEST(Walk, NoMoreAnswersKeepsWhatWasSaid) {
  Walk walk;
  RunContext context;
  int questions_left = 1;
  Leader leader;
  leader.ask = [&](const Question&, bool, std::string_view) -> std::optional<std::string> {
    return questions_left-- > 0 ? std::optional<std::string>("npu") : std::nullopt;
  };
  const auto taken = take(walk, leader, context);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().where, HasSubstr("key 'change'"));
  EXPECT_EQ(walk.answers.known("problem"), "npu");
}

}  // namespace
}  // namespace plumb::guide
