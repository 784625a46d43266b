// SPDX-License-Identifier: Apache-2.0
//
// Runs to write reports of: an everyday one, and the odd ones that break careless writers.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "plumb/row.h"

namespace plumb::report {

using metrics::Better;
using metrics::Metric;
using metrics::Print;
using metrics::Value;
using result::Row;
using result::Run;
using result::Side;
using result::Verdict;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline constexpr Metric kSampleMetrics[] = {
    {"cosine", "", Better::kHigher},
    {"rel_euclid", "", Better::kLower},
    {"max_abs", "", Better::kLower},
    {"max_rel", "", Better::kLower},
    {"bulk_rel_euclid", "", Better::kLower},
    {"target_nan", "", Better::kNeither, Print::kCount},
    {"target_crc32", "", Better::kNeither, Print::kHex},
};

inline Run sample_run() {
  Run run;
  run.command = "compare";
  run.scenario = "dump-vs-dump";
  run.profile = "standard";
  run.target = {"npu/", "ascend-dump", {}, 0, {}};
  run.golden = {"npy/", "named-npy", {}, 0, {}};
  run.elapsed_s = 0.41;
  run.bytes = 1234567890;
  for (const Metric& metric : kSampleMetrics) run.metrics.push_back(&metric);
  return run;
}

inline Side side(std::string name, std::string type = "Conv2D", Shape shape = {1, 64, 56, 56},
                 std::string dtype = "float16") {
  const std::string file = type + "." + name + ".3.17";
  return {
      std::move(name), std::move(type), "output:0", std::move(dtype), std::move(shape), "", file};
}

inline std::vector<Value> values(double cosine, double rel_euclid, double max_abs, double max_rel) {
  return {Value::of(cosine),      Value::of(rel_euclid), Value::of(max_abs), Value::of(max_rel),
          Value::at_most(0.0123), Value::of(0),          Value::of(0xbeef)};
}

inline Row paired(const std::string& name, Verdict verdict, std::vector<Value> numbers,
                  std::vector<std::string> reasons = {}, std::string message = "") {
  Row row;
  row.target = side(name);
  row.golden = side(name, "Conv", {1, 64, 56, 56}, "float32");
  row.golden->file = name + ".0.1682931000.npy";
  row.pairing_rule = "name";
  row.values = std::move(numbers);
  row.verdict = verdict;
  row.reasons = std::move(reasons);
  row.message = std::move(message);
  return row;
}

inline Row alone(const std::string& name, bool is_target, std::string reason) {
  Row row;
  (is_target ? row.target : row.golden) = side(name);
  row.reasons = {std::move(reason)};
  return row;
}

inline void number_rows(Run& run) {
  for (size_t i = 0; i < run.rows.size(); ++i) run.rows[i].index = static_cast<int64_t>(i);
}

// A network whose fifth stage went wrong.
inline Run failing_run() {
  Run run = sample_run();
  run.target.warnings = {"2 operators were dumped twice; the later file counts"};
  run.golden.files_left_out = 3;
  std::vector<Row>& rows = run.rows.all();
  rows.push_back(paired("conv1/Conv2D", Verdict::kPass, values(0.9999987, 0.0016, 0.0134, 0.91)));
  rows.back().golden->operator_name = "conv1/relu";
  rows.back().pairing_rule = "origin-name";
  rows.back().pairing_evidence = "output 0 originates from conv1/relu:0";
  rows.push_back(paired("pool1", Verdict::kPass, values(0.99999996, 0.0003, 0.0121, 0.5)));
  for (int stage = 2; stage <= 4; ++stage)
    for (const char* branch : {"a", "b", "c"})
      rows.push_back(paired("res" + std::to_string(stage) + branch + "_branch2a/BatchNorm",
                            Verdict::kPass, values(0.99998, 0.0061, 0.034 * stage, 3.5)));
  rows.push_back(paired("res4f", Verdict::kPass, values(0.9993, 0.021, 0.81, 12.5), {},
                        "cosine 0.9993 is near its limit 0.999"));
  rows.back().suspicious = true;
  rows.push_back(paired("res5a_branch2a/BatchNorm", Verdict::kFail,
                        values(0.81234567, 0.4012345, 12.25, kInf),
                        {"limit:cosine", "limit:rel_euclid"},
                        "cosine 0.8123 is below 0.999, rel_euclid 0.4012 is above 0.03"));
  rows.push_back(paired("res5b_branch2a/BatchNorm", Verdict::kFail, values(0.9985, 0.04, 0.75, 88),
                        {"limit:cosine", "limit:rel_euclid"},
                        "cosine 0.9985 is below 0.999, rel_euclid 0.04 is above 0.03"));
  rows.back().hint = "would pass with cosine >= 0.998, rel_euclid <= 0.041";
  rows.push_back(paired("res5c", Verdict::kFail, {}, {"shape_mismatch"},
                        "target is [1, 2048, 7, 7], golden is [1, 2048, 8, 8]"));
  rows.back().target->shape = {1, 2048, 7, 7};
  rows.back().golden->shape = {1, 2048, 8, 8};
  rows.push_back(paired("pool5", Verdict::kFail,
                        {Value::undefined("a side is not finite"),
                         Value::undefined("a side is not finite"), Value::of(3), Value::of(1),
                         Value::undefined("a side is not finite"), Value::of(37), Value::of(1)},
                        {"nan_only_in_target"}, "37 values are NaN in the target alone"));
  rows.push_back(paired("fc1000", Verdict::kInconclusive,
                        {Value::undefined("target is all zeros"), Value::of(1), Value::of(8.5),
                         Value::of(1), Value::of(1), Value::of(0), Value::of(2)},
                        {"undefined:cosine", "all_zero_target"},
                        "every value of the target is zero"));
  rows.push_back(alone("prob", true, "no_golden"));
  rows.push_back(alone("prob/Softmax", false, "no_target"));
  rows.push_back(alone("mean", false, "no_target"));
  rows.push_back(alone("data", true, "filtered"));
  rows.push_back(alone("label", true, "damaged_file"));
  rows.back().message = "npu/label.0.17: dump holds less data than its header promises";
  number_rows(run);
  return run;
}

inline Run passing_run() {
  Run run = sample_run();
  for (int i = 0; i < 120; ++i)
    run.rows.push_back(paired("conv" + std::to_string(i), Verdict::kPass,
                              values(1 - 1e-7 * i, 1e-5 * i, 1e-4 * i, 0.01 * i)));
  number_rows(run);
  return run;
}

// Names that quote, escape, comment, calculate and repaint the screen.
inline Run hostile_run() {
  Run run = sample_run();
  run.target.path = "a \"b\", <c> & | d\n/";
  run.golden.warnings = {"odd\x1b[31m file, \"quoted\""};
  const std::string names[] = {"quo\"te",
                               "com,ma",
                               "pi|pe",
                               "<b>&amp;</b>",
                               "new\nline",
                               "esc\x1b[2Jape",
                               "=1+1",
                               "+cmd|' /C calc'!A0",
                               "-2+3",
                               "@SUM(A1)",
                               "\t=1",
                               "\r=1",
                               "-1.5e3",
                               "bad\xff utf\xc3",
                               "]]>",
                               "`code` *star* _line_",
                               "卷积/层",
                               "nul" + std::string(1, '\0') + "nul",
                               "back\\slash",
                               "\xc2\x9b"
                               "31mC1",
                               "＝1+1",
                               ""};
  for (const std::string& name : names) {
    run.rows.push_back(
        paired(name, Verdict::kFail, values(kNan, kInf, -kInf, -0.0), {"limit:cosine"}, name));
    run.rows.back().hint = name;
    run.rows.push_back(alone(name, true, "no_golden"));
  }
  number_rows(run);
  return run;
}

// Names that a spreadsheet would run, decode, or not take.
inline Run extreme_run() {
  Run run = sample_run();
  const std::string long_name(40000, 'x');
  for (const std::string& name : {std::string("=cmd|' /C calc'!A0"), std::string("🔥 _x0041_"),
                                  std::string("a\x01\xff"), long_name})
    run.rows.push_back(paired(name, Verdict::kPass, values(1.0 / 3, 1e-300, 5e300, 0.1 + 0.2)));
  number_rows(run);
  return run;
}

inline Run one_sided_run() {
  Run run = sample_run();
  for (const char* name : {"a", "b"}) run.rows.push_back(alone(name, true, "no_golden"));
  run.rows.push_back(alone("c", false, "no_target"));
  number_rows(run);
  return run;
}

// Any run at all; whether its numbers make sense is not the point.
inline Run random_run(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random()) % n; };
  Run run = sample_run();
  run.metrics.resize(below(8));
  run.interrupted = below(8) == 0;
  const unsigned rows = below(30), verdicts = 1 + below(4);
  for (unsigned i = 0; i < rows; ++i) {
    const auto verdict = static_cast<Verdict>((below(verdicts) + seed) % 4);
    Row row;
    if (verdict == Verdict::kNotCompared) {
      row = alone("op" + std::to_string(below(10)), below(2) == 0,
                  below(2) == 0 ? "filtered" : "no_golden");
    } else {
      row = paired("op" + std::to_string(i), verdict, {}, {"limit:cosine"});
      row.suspicious = verdict == Verdict::kPass && below(3) == 0;
      for (size_t k = 0; k < run.metrics.size(); ++k)
        row.values.push_back(
            below(4) == 0   ? Value::undefined("golden is all zeros")
            : below(4) == 0 ? Value::at_most(0.5)
            : run.metrics[k]->print == Print::kHex
                ? Value::of(below(1000))
                : Value::of(std::ldexp(below(1000), -static_cast<int>(below(60)))));
    }
    if (below(2) == 0) row.step = below(3);
    if (below(2) == 0) row.rank = below(3);
    if (below(3) == 0) row.graph = "graph_1";
    run.rows.push_back(std::move(row));
  }
  number_rows(run);
  return run;
}

// Every limit holds, but an output is worse than it was.
inline Run worse_run() {
  Run run = passing_run();
  run.rows.resize(4);
  run.rows.back().is_model_output = true;
  result::Baseline& baseline = run.baseline.emplace();
  baseline.path = "old|<b>.json";
  baseline.version = "0.1.0";
  baseline.warnings = {"the baseline was judged by profile 'offline', this run by 'standard'"};
  baseline.outputs_known = true;
  baseline.outputs_held = 2;
  baseline.tensors = {
      {"conv3",
       "output:0",
       "main",
       0,
       {},
       true,
       true,
       {"cosine", "verdict"},
       {Verdict::kPass, 0.99999, 0.001},
       result::Standing{Verdict::kInconclusive, {}, kInf}},
      {"prob\n2", "output:0", "", {}, 3, true, true, {"gone"}, {Verdict::kPass, 1, 0}, {}},
      {"conv2",
       "output:0",
       "",
       {},
       {},
       false,
       true,
       {"rel_euclid"},
       {Verdict::kPass, 1, 0.001},
       result::Standing{Verdict::kPass, 0.9999, 0.01}},
      {"conv1",
       "output:0",
       "",
       {},
       {},
       false,
       false,
       {"verdict"},
       {Verdict::kFail, 0.5, 1},
       result::Standing{Verdict::kPass, 0.9999, 0.01}}};
  baseline.operators = {
      {"cast|1", "Cast", result::Change::kNew, {}},
      {"relu1", "Relu", result::Change::kGone, {}},
      {"conv2", "Conv2D", result::Change::kChanged, {"output:0 dtype float32 -> float16"}}};
  return run;
}

struct NamedRun {
  const char* name;
  Run run;
};

// Two samples through two models, which see different animals in the second.
inline Run sampled_run() {
  Run run = sample_run();
  run.command = "run";
  run.samples = {"cat.jpg", "dog.jpg"};
  for (int64_t step : {0, 1}) {
    run.rows.push_back(paired("conv1", Verdict::kPass, values(1, 0.001, 0.5, 1)));
    run.rows.back().step = step;
    run.rows.push_back(step == 0 ? paired("prob", Verdict::kPass, values(0.9999, 0.01, 0.1, 1))
                                 : paired("prob", Verdict::kFail, values(0.9, 0.2, 0.3, 1),
                                          {"limit:cosine"}, "cosine 0.9 is below 0.999"));
    run.rows.back().step = step;
    run.rows.back().is_model_output = true;
  }
  run.accuracy.push_back({"prob", 2, 0.5, {{1, 285, 281}}, 2, {{1, 0.5, 1}, {5, 1, 1}}});
  return run;
}

inline result::Details sample_details() {
  result::Details details;
  details.histogram = {-1, 1, {1, 2, 3, 4}, {4, 3, 2, 1}};
  details.channels = {1, 3, 1, {0.125, 0, 1e-7}, {1, 2, 3}};
  details.heat = {2, 3, 0.5, {0, 1, 62, 63, 30, 7}};
  details.worst = {{{0, 1, 2, 3}, 1.5, 1}, {{0, 0, 0, 0}, kNan, -kInf}};
  return details;
}

// A network with its graph: a branch and a join, one operator that introduces an error, those
// behind it that inherit it, and one of golden that nobody paired.
inline Run drawn_run() {
  Run run = sample_run();
  run.limits = {{"cosine", ">=", 0.999, ""}, {"cosine", ">=", 0.9995, "float16"}};
  auto network = std::make_shared<result::Network>();
  const char* const names[] = {"data", "net/conv1", "net/<left>", "net/right", "net/add", "prob"};
  for (const char* name : names) {
    const bool is_bad = std::string_view(name) != "data" && std::string_view(name) != "net/conv1" &&
                        std::string_view(name) != "net/right";
    run.rows.push_back(
        paired(name, is_bad ? Verdict::kFail : Verdict::kPass,
               is_bad ? values(0.9, 0.25, 1, 2) : values(1, 0.001, 0.01, 0.1),
               is_bad ? std::vector<std::string>{"limit:cosine"} : std::vector<std::string>()));
    run.rows.back().node = std::ssize(network->nodes);
    network->nodes.push_back({name, "Conv2D", {std::string(name) + "_origin"}, false});
  }
  network->nodes.back().is_output = run.rows.back().is_model_output = true;
  network->edges = {{0, 0, 1, 0}, {1, 0, 2, 0}, {1, 0, 3, 0},
                    {2, 0, 4, 0}, {3, 0, 4, 1}, {4, 0, 5, 0}};
  run.network = network;
  run.rows[2].own_error = {{0.25, 0.001, true}};
  run.rows[2].details = std::make_shared<const result::Details>(sample_details());
  run.rows[4].details = std::make_shared<const result::Details>();
  run.rows.push_back(alone("net/dropped", false, "no_target"));
  run.findings.push_back({"operator",
                          "operator",
                          "net/<left>",
                          "",
                          0.9,
                          {{"its inputs agree, its output does not", 2, "rel_euclid", 0.25}},
                          "look at it",
                          "plumb isolate RESULT.json --op 'net/<left>'",
                          {"net/add", "prob"}});
  number_rows(run);
  return run;
}

inline std::vector<NamedRun> sample_runs() {
  std::vector<NamedRun> runs;
  runs.push_back({"failing", failing_run()});
  runs.push_back({"passing", passing_run()});
  runs.push_back({"hostile", hostile_run()});
  runs.push_back({"extreme", extreme_run()});
  runs.push_back({"one_sided", one_sided_run()});
  runs.push_back({"empty", sample_run()});
  runs.push_back({"no_metrics", failing_run()});
  runs.back().run.metrics.clear();
  for (Row& row : runs.back().run.rows.all()) row.values.clear();
  runs.push_back({"interrupted", failing_run()});
  runs.back().run.interrupted = true;
  runs.push_back({"ranks", failing_run()});
  for (Row& row : runs.back().run.rows.all())
    row.step = 0, row.rank = row.index % 2, row.graph = "main";
  runs.push_back({"random", random_run(7)});
  runs.push_back({"worse", worse_run()});
  runs.push_back({"as_before", worse_run()});
  runs.back().run.baseline->tensors.clear();
  runs.push_back({"held_by_nothing", failing_run()});
  runs.back().run.baseline.emplace();
  runs.push_back({"sampled", sampled_run()});
  runs.push_back({"drawn", drawn_run()});
  return runs;
}

}  // namespace plumb::report
