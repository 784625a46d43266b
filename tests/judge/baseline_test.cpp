// SPDX-License-Identifier: Apache-2.0
//
// What counts as worse, table by table: numbers and verdicts of one output, which rows are outputs,
// which rows of two runs are the same tensor, and what operators did. The limits are those of the
// specification (cosine by 0.001; rel_euclid to twice and by 0.001), written out here again.
#include "judge/baseline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/non_finite_testing.h"
#include "report/writer.h"
#include "scratch.h"

namespace plumb::judge {
namespace {

using metrics::kInf;
using metrics::kNan;
using metrics::Value;
using result::Baseline;
using result::Change;
using result::Row;
using result::Saved;
using result::Verdict;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kUndefined = -7;  // no cosine or distance is

result::Run empty_run() {
  result::Run run;
  run.command = "compare";
  run.scenario = "dump-vs-dump";
  run.profile = "standard";
  for (const std::string_view name : kTrackedMetrics)
    run.metrics.push_back(metrics::metric_by_name(name));
  return run;
}

Value value(double number) {
  return number == kUndefined ? Value::undefined("golden is all zeros") : Value::of(number);
}

Row row(std::string name, double cosine = 1, double rel_euclid = 0,
        Verdict verdict = Verdict::kPass, std::string slot = "output:0") {
  Row row;
  row.target = {name, "Conv2D", slot, "float16", Shape{1, 8}, "", ""};
  row.golden = {name, "Conv", slot, "float32", Shape{1, 8}, "", ""};
  row.values = {value(cosine), value(rel_euclid)};
  row.verdict = verdict;
  if (verdict != Verdict::kPass) row.reasons = {"limit:cosine"};
  if (verdict == Verdict::kNotCompared) row.values.clear();
  return row;
}

Row filtered(std::string name) {
  Row left_out = row(std::move(name), 1, 0, Verdict::kNotCompared);
  left_out.reasons = {"filtered"};
  return left_out;
}

result::Run run_of(std::vector<Row> rows) {
  result::Run run = empty_run();
  run.rows = std::move(rows);
  return run;
}

Baseline held(std::vector<Row> before, std::vector<Row> now) {
  return hold_against(run_of(std::move(now)), {run_of(std::move(before)), "0.1.0", {}}, "old.json");
}

std::vector<std::string> names(const Baseline& baseline, bool is_output, bool is_worse) {
  std::vector<std::string> found;
  for (const result::TensorChange& change : baseline.tensors)
    if (change.is_output == is_output && change.is_worse == is_worse)
      found.push_back(change.operator_name);
  return found;
}

std::vector<std::string> names(const Baseline& baseline, Change change) {
  std::vector<std::string> found;
  for (const result::OperatorChange& op : baseline.operators)
    if (op.change == change) found.push_back(op.operator_name);
  return found;
}

TEST(Baseline, Gate) {
  using enum Verdict;
  const struct {
    const char* name;
    double cosine, rel_euclid;
    Verdict verdict;
    double new_cosine, new_rel_euclid;
    Verdict new_verdict;
    std::vector<std::string> worse, better;
  } kCases[] = {
      {"the same", 0.9, 0.1, kPass, 0.9, 0.1, kPass, {}, {}},
      {"cosine lost a little", 0.9999, 0.01, kPass, 0.99891, 0.01, kPass, {}, {}},
      {"cosine lost too much", 0.9999, 0.01, kPass, 0.99889, 0.01, kPass, {"cosine"}, {}},
      {"cosine gained", 0.99, 0.01, kPass, 0.9999, 0.01, kPass, {}, {"cosine"}},
      {"distance twice, but small", 0.9999, 0.0001, kPass, 0.9999, 0.00109, kPass, {}, {}},
      {"distance grew, but less than twice", 0.9999, 0.1, kPass, 0.9999, 0.199, kPass, {}, {}},
      {"distance more than twice", 0.9999, 0.01, kPass, 0.9999, 0.0201, kPass, {"rel_euclid"}, {}},
      {"distance from zero", 1, 0, kPass, 1, 0.0011, kPass, {"rel_euclid"}, {}},
      {"distance to infinity", 1, 1, kPass, 1, kInf, kPass, {"rel_euclid"}, {}},
      {"infinite as before", 1, kInf, kPass, 1, kInf, kPass, {}, {}},
      {"both", 1, 0, kPass, 0.9, 0.3, kFail, {"verdict", "cosine", "rel_euclid"}, {}},
      {"fails by a limit alone", 0.9, 0.1, kPass, 0.9, 0.1, kFail, {"verdict"}, {}},
      {"inconclusive now", 0.9, 0.1, kPass, 0.9, 0.1, kInconclusive, {"verdict"}, {}},
      {"inconclusive to fail", 0.9, 0.1, kInconclusive, 0.9, 0.1, kFail, {"verdict"}, {}},
      {"fails as before", 0.5, 0.9, kFail, 0.5, 0.9, kFail, {}, {}},
      {"fails, and worse", 0.5, 0.9, kFail, 0.4, 0.9, kFail, {"cosine"}, {}},
      {"passes again", 0.9, 0.1, kFail, 0.9, 0.1, kPass, {}, {"verdict"}},
      {"not compared now",
       0.9,
       0.1,
       kPass,
       0,
       0,
       kNotCompared,
       {"verdict", "cosine", "rel_euclid"},
       {}},
      {"failed, not compared now",
       kUndefined,
       kUndefined,
       kFail,
       0,
       0,
       kNotCompared,
       {"verdict"},
       {}},
      {"undefined now", 0.9, 0.1, kPass, kUndefined, 0.1, kPass, {"cosine"}, {}},
      {"NaN is no number", 0.9, 0.1, kPass, 0.9, kNan, kPass, {"rel_euclid"}, {}},
      {"undefined as before", kUndefined, kNan, kPass, kUndefined, kUndefined, kPass, {}, {}},
      {"defined now", kUndefined, 0.1, kPass, 0.2, 0.1, kPass, {}, {"cosine"}},
      {"better and worse is worse", 0.9, 0.01, kPass, 0.99, 0.1, kPass, {"rel_euclid"}, {}},
      {"was not compared", 0, 0, kNotCompared, 0.1, 0.9, kFail, {}, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    // A second output, so that something is held in every case.
    const Baseline baseline =
        held({row("a", c.cosine, c.rel_euclid, c.verdict), row("other")},
             {row("a", c.new_cosine, c.new_rel_euclid, c.new_verdict), row("other")});
    EXPECT_EQ(baseline.holds(), c.worse.empty());
    EXPECT_EQ(baseline.outputs_held, c.verdict == kNotCompared ? 1 : 2);
    ASSERT_EQ(baseline.tensors.size(), c.worse.empty() && c.better.empty() ? 0U : 1U);
    if (baseline.tensors.empty()) continue;
    EXPECT_EQ(baseline.tensors[0].is_worse, !c.worse.empty());
    EXPECT_EQ(baseline.tensors[0].reasons, c.worse.empty() ? c.better : c.worse);
  }
}

TEST(Baseline, OutputThatIsGone) {
  const Baseline baseline = held({row("a"), row("b")}, {row("a")});
  EXPECT_FALSE(baseline.holds());
  ASSERT_EQ(baseline.tensors.size(), 1U);
  EXPECT_THAT(baseline.tensors[0].reasons, ElementsAre("gone"));
  EXPECT_FALSE(baseline.tensors[0].after);
  // The target's tensor is gone even if the golden side still has its own.
  Row only_golden = row("b", 1, 0, Verdict::kNotCompared);
  only_golden.target.reset();
  EXPECT_FALSE(held({row("a"), row("b")}, {row("a"), only_golden}).holds());
}

TEST(Baseline, NothingToHoldIsNoPass) {
  EXPECT_FALSE(held({row("a")}, {}).holds());
  EXPECT_FALSE(held({}, {row("a")}).holds());
  const Baseline all_filtered = held({row("a")}, {filtered("a")});
  EXPECT_FALSE(all_filtered.holds());
  EXPECT_THAT(all_filtered.warnings,
              ElementsAre("1 of the baseline's outputs is filtered in this run and not held "
                          "against it",
                          "no output that the baseline compared is left to hold against it"));
  EXPECT_TRUE(held({row("a"), row("b")}, {filtered("a"), row("b")}).holds());
}

TEST(Baseline, OnlyOutputsCount) {
  const auto input = [](double cosine) { return row("a", cosine, 0, Verdict::kPass, "input:0"); };
  // No graph: every output tensor.
  Baseline baseline = held({input(1), row("a"), row("b")}, {input(0.5), row("a"), row("b", 0.5)});
  EXPECT_FALSE(baseline.outputs_known);
  EXPECT_EQ(baseline.outputs_held, 2);
  EXPECT_THAT(names(baseline, true, true), ElementsAre("b"));
  EXPECT_THAT(names(baseline, false, true), ElementsAre("a"));
  // A graph on either side: what it says.
  Row output = row("b");
  output.is_model_output = true;
  for (const bool told_before : {true, false}) {
    baseline = held({row("a"), told_before ? output : row("b")},
                    {row("a", 0.5), told_before ? row("b") : output});
    EXPECT_TRUE(baseline.outputs_known);
    EXPECT_TRUE(baseline.holds());
    EXPECT_EQ(baseline.outputs_held, 1);
    EXPECT_THAT(names(baseline, false, true), ElementsAre("a"));
    EXPECT_THAT(baseline.warnings,
                ElementsAre(fmt::format("only the graph of {} tells the model's outputs",
                                        told_before ? "the baseline" : "this run")));
  }
  // The output itself is gone.
  EXPECT_FALSE(held({row("a"), output}, {row("a")}).holds());
}

TEST(Baseline, WorstFirst) {
  Row output = row("out");
  output.is_model_output = true;
  Row gone = output;
  gone.target->operator_name = gone.golden->operator_name = "gone";
  Row worse_output = output;
  worse_output.values[0] = Value::of(0.99);
  const Baseline baseline =
      held({row("a"), row("b", 0.5), row("c"), output, gone, row("d")},
           {row("a", 0.9), row("b", 0.9), row("c", 0.2), worse_output, row("d", kUndefined)});
  std::vector<std::string> order;
  for (const result::TensorChange& change : baseline.tensors) order.push_back(change.operator_name);
  EXPECT_THAT(order, ElementsAre("gone", "out", "d", "c", "a", "b"));
}

TEST(Baseline, TheSameTensor) {
  const auto at = [](Row row, std::optional<int64_t> step, std::optional<int64_t> rank,
                     std::string graph) {
    row.step = step, row.rank = rank, row.graph = std::move(graph);
    return row;
  };
  // Another step was dumped, and the model was given another name: no loss.
  EXPECT_TRUE(held({at(row("a"), 0, {}, "net")}, {at(row("a"), 7, {}, "net_v2")}).holds());
  // But where there are several, each is held against its own.
  const Baseline steps = held({at(row("a"), 0, {}, ""), at(row("a", 0.5), 1, {}, "")},
                              {at(row("a"), 1, {}, ""), at(row("a", 0.5), 0, {}, "")});
  EXPECT_EQ(steps.count(true, true), 1);
  EXPECT_EQ(steps.count(true, false), 1);
  EXPECT_EQ(steps.tensors[0].step, 0);
  EXPECT_FALSE(
      held({at(row("a"), {}, 0, ""), at(row("a"), {}, 1, "")}, {at(row("a"), {}, 0, "")}).holds());
  // Rows of one name in the order of the run.
  EXPECT_TRUE(held({row("a", 1), row("a", 0.5)}, {row("a", 1), row("a", 0.5)}).tensors.empty());
}

TEST(Baseline, RenamedOperator) {
  Row fused = row("conv1_relu1");
  fused.golden->operator_name = "relu1";
  Row again = row("relu1_fused", 0.9);
  again.golden->operator_name = "relu1";
  const Baseline renamed = held({fused}, {again});
  EXPECT_EQ(renamed.outputs_held, 1);
  ASSERT_EQ(renamed.tensors.size(), 1U);
  EXPECT_EQ(renamed.tensors[0].operator_name, "relu1_fused");
  EXPECT_THAT(renamed.tensors[0].reasons, ElementsAre("cosine"));
  EXPECT_THAT(names(renamed, Change::kNew), ElementsAre("relu1_fused"));
  EXPECT_THAT(names(renamed, Change::kGone), ElementsAre("conv1_relu1"));
  // Two candidates are anyone's guess, and an input is no output.
  Row other = again;
  other.target->operator_name = "relu1_too";
  EXPECT_THAT(held({fused}, {again, other}).tensors[0].reasons, ElementsAre("gone"));
  Row input = again;
  input.target->slot = "input:0";
  EXPECT_THAT(held({fused}, {input}).tensors[0].reasons, ElementsAre("gone"));
}

TEST(Baseline, Operators) {
  Row changed = row("c");
  changed.target->type = "Conv2DV2";
  changed.target->dtype = "float32";
  changed.target->layout = "NC1HWC0";
  changed.target->shape = Shape{1, 16};
  Row unknown = row("u");
  unknown.target->type = unknown.target->dtype = "";
  unknown.target->shape.reset();
  const Baseline baseline =
      held({row("a"), row("b"), row("c"), row("u"), row("d", 1, 0, Verdict::kPass, "output:1")},
           {row("n"), row("a"), changed, unknown, row("d")});
  EXPECT_THAT(names(baseline, Change::kNew), ElementsAre("n"));
  EXPECT_THAT(names(baseline, Change::kGone), ElementsAre("b"));
  EXPECT_THAT(names(baseline, Change::kChanged), ElementsAre("c", "d"));
  EXPECT_THAT(baseline.operators[2].details,
              ElementsAre("type Conv2D -> Conv2DV2", "output:0 dtype float16 -> float32",
                          "output:0 layout plain -> NC1HWC0", "output:0 shape [1, 8] -> [1, 16]"));
  EXPECT_THAT(baseline.operators[3].details, ElementsAre("output:1 is gone", "output:0 is new"));
  // Each step has a row; what changed is told once.
  Row step0 = row("a"), step1 = row("a"), new0 = step0, new1 = step1;
  step0.step = new0.step = 0, step1.step = new1.step = 1;
  new0.target->dtype = new1.target->dtype = "bfloat16";
  EXPECT_EQ(held({step0, step1}, {new0, new1}).operators[0].details.size(), 1U);
}

// What was filtered was not read: nothing is known of it now.
TEST(Baseline, FilteredOperatorsDidNotChange) {
  Row before = row("a");
  before.target->layout = "NC1HWC0";
  Row alone = row("a", 1, 0, Verdict::kNotCompared);
  alone.reasons = {"no_golden"};
  EXPECT_THAT(held({before, row("b")}, {filtered("a"), row("b")}).operators, IsEmpty());
  EXPECT_THAT(held({row("b")}, {filtered("new"), row("b")}).operators, IsEmpty());
  // Nor is the layout of a tensor that had no partner.
  EXPECT_THAT(held({before, row("b")}, {alone, row("b")}).operators, IsEmpty());
}

// A model output that this run lacks is in no row, and its graph still tells it.
TEST(Baseline, TheGraphTellsAnOutputThatIsMissing) {
  Row output = row("prob");
  output.is_model_output = true;
  result::Run now = run_of({row("a")});
  now.outputs_not_compared = {"prob"};
  const Baseline baseline = hold_against(now, {run_of({row("a"), output}), "0.1.0", {}}, "old");
  EXPECT_FALSE(baseline.holds());
  EXPECT_THAT(baseline.warnings, IsEmpty());
}

TEST(Baseline, NothingIsWorseThanItself) {
  const std::vector<Row> rows = {row("a"),
                                 row("b", kNan, kInf, Verdict::kFail),
                                 row("c", kUndefined, kUndefined, Verdict::kInconclusive),
                                 row("d", 0, 0, Verdict::kNotCompared),
                                 filtered("e"),
                                 row("a")};
  const Baseline baseline = held(rows, rows);
  EXPECT_TRUE(baseline.holds());
  EXPECT_THAT(baseline.tensors, IsEmpty());
  EXPECT_THAT(baseline.operators, IsEmpty());
  EXPECT_THAT(baseline.warnings, IsEmpty());
}

TEST(Baseline, Warnings) {
  result::Run before = run_of({row("a")}), now = run_of({row("a")});
  before.profile = "offline";
  before.scenario = "npu-vs-npu";
  before.interrupted = true;
  before.metrics.push_back(metrics::metric_by_name("kl"));
  now.metrics.push_back(metrics::metric_by_name("max_abs"));
  const Baseline baseline = hold_against(now, {before, "0.1.0", {"a note"}}, "old.json");
  EXPECT_TRUE(baseline.holds());
  EXPECT_THAT(
      baseline.warnings,
      ElementsAre("the baseline was judged by profile 'offline', this run by 'standard': verdicts "
                  "may differ for that alone",
                  "the baseline is a comparison 'npu-vs-npu', this run is 'dump-vs-dump': numbers "
                  "may differ for that alone",
                  "metrics only in the baseline: kl", "metrics only in this run: max_abs",
                  "the baseline was interrupted: what it did not reach is not tracked",
                  "baseline: a note"));
}

TEST(LoadBaseline, RefusesWhatCannotBeTracked) {
  Scratch scratch;
  const auto path = scratch.path() / "old.json";
  const auto what = [&](const result::Run& run) {
    EXPECT_TRUE(report::write_file(run, path).ok());
    const auto loaded = load_baseline(path);
    return loaded ? "" : loaded.error().what;
  };
  EXPECT_EQ(what(run_of({row("a")})), "");
  EXPECT_EQ(what(run_of({row("a", 1, 0, Verdict::kNotCompared)})),
            "nothing was compared in the baseline");
  EXPECT_EQ(what(run_of({})), "nothing was compared in the baseline");
  result::Run run = run_of({row("a")});
  run.metrics.pop_back();
  EXPECT_EQ(what(run), "the baseline does not tell rel_euclid");
  run.metrics.clear();
  EXPECT_EQ(what(run), "the baseline does not tell cosine");
}

}  // namespace
}  // namespace plumb::judge
