// SPDX-License-Identifier: Apache-2.0
//
// JUnit XML, the dialect that Jenkins, GitLab and GitHub actions read: one test case per row. What
// could not be compared is an error, so that a run with nothing in it never looks green.
#include <cmath>

#include <fmt/format.h>

#include "report/baseline_text.h"
#include "report/headline.h"
#include "report/text.h"
#include "report/writer.h"
#include "report/xml_text.h"
#include "result/value_text.h"

namespace plumb::report {
namespace {

using result::exact_text;
using result::Row;
using result::Run;
using result::Summary;
using result::undefined_text;
using result::Verdict;

// What a person who opens the failed case wants to know.
std::string details(const Run& run, const Row& row) {
  std::string text;
  if (!row.reasons.empty()) text += "reasons: " + xml_text(reasons_text(row)) + "\n";
  if (!row.message.empty()) text += xml_text(row.message) + "\n";
  if (!row.hint.empty()) text += xml_text(row.hint) + "\n";
  for (size_t i = 0; i < run.metrics.size() && i < row.values.size(); ++i) {
    const metrics::Value& value = row.values[i];
    text += xml_text(fmt::format("{}: {}", run.metrics[i]->name,
                                 value.is_defined() ? exact_text(*run.metrics[i], value.number())
                                                    : "undefined, " + undefined_text(value))) +
            "\n";
  }
  for (const auto& [name, side] : {std::pair("target", &row.target), {"golden", &row.golden}})
    if (*side)
      text += xml_text(fmt::format("{}: {} {} {} {}", name, (*side)->operator_name, (*side)->dtype,
                                   shape_text(**side), (*side)->file)) +
              "\n";
  return text;
}

std::string test_case(const Run& run, const Row& row) {
  const std::string& name = row.any_side().operator_name;
  // What place_text says behind the operator's name.
  std::string place = place_text(row).substr(name.size());
  if (!row.graph.empty()) place += fmt::format(" [graph {}]", row.graph);
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_text(name),
                                 xml_text(place.empty() ? place : place.substr(1)));
  const std::string message =
      xml_text(row.message.empty() ? reasons_text(row) : reasons_text(row) + ": " + row.message);
  const std::string type = xml_text(row.reasons.empty() ? "unknown" : row.reasons.front());
  if (row.verdict == Verdict::kPass && !row.suspicious) return text + "/>\n";
  text += ">\n";
  if (row.verdict == Verdict::kPass)
    text += fmt::format("      <system-out>suspicious\n{}</system-out>\n", details(run, row));
  else if (row.is_excused())
    text += fmt::format("      <skipped message=\"{}\"/>\n", message);
  else if (row.verdict == Verdict::kNotCompared)
    text += fmt::format("      <error type=\"{}\" message=\"{}\">{}</error>\n", type, message,
                        details(run, row));
  else
    text += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                        row.verdict == Verdict::kInconclusive ? "inconclusive" : type, message,
                        details(run, row));
  return text + "    </testcase>\n";
}

// The comparison with an earlier run, as one more test case.
std::string baseline_case(const result::Baseline& baseline) {
  const std::string start = fmt::format("    <testcase classname=\"plumb\" name=\"baseline {}\"",
                                        xml_text(baseline.path));
  if (baseline.holds()) return start + "/>\n";
  std::string text = xml_text(baseline_text(baseline)) + "\n";
  for (const std::string& warning : baseline.warnings) text += xml_text(warning) + "\n";
  for (const result::TensorChange& change : baseline.tensors)
    if (change.is_output && change.is_worse) text += xml_text(change_text(change)) + "\n";
  return start + fmt::format(
                     ">\n      <failure type=\"baseline\" message=\"{}\">{}</failure>\n"
                     "    </testcase>\n",
                     xml_text(baseline_headline(baseline)), text);
}

}  // namespace

void write_junit(const Run& run, const Put& put) {
  const Summary s = run.summary();
  const int64_t is_worse = run.baseline && !run.baseline->holds();
  const int64_t failures = s.fail + s.inconclusive + is_worse;
  const int64_t missing = s.not_compared - s.excused();
  // No row tells that nothing was compared, or that the run ended early.
  const bool extra = s.verdict != Verdict::kPass && failures + missing == 0;
  const std::string counts =
      fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.3f}")",
                  s.rows + run.baseline.has_value() + extra, failures, missing + extra, s.excused(),
                  std::isfinite(run.elapsed_s) ? run.elapsed_s : 0);
  put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  put(fmt::format("<testsuites name=\"plumb\" {}>\n  <testsuite name=\"plumb {}\" {}>\n", counts,
                  xml_text(run.command), counts));
  put("    <properties>\n");
  const auto property = [&](std::string_view name, std::string_view value) {
    put(fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml_text(value)));
  };
  property("verdict", name_of(s.verdict));
  property("target", run.target.path);
  property("golden", run.golden.path);
  property("profile", limits_text(run));
  property("coverage", coverage_text(s));
  for (const result::Accuracy& of : run.accuracy) property("classes", accuracy_text(run, of));
  put("    </properties>\n");
  for (const Row& row : run.rows) put(test_case(run, row));
  if (run.baseline) put(baseline_case(*run.baseline));
  if (extra)
    put(
        fmt::format("    <testcase classname=\"plumb\" name=\"{0}\">\n"
                    "      <error type=\"{1}\" message=\"{2}\"/>\n    </testcase>\n",
                    xml_text(run.command), name_of(s.verdict), xml_text(headline(run, s))));
  put("  </testsuite>\n</testsuites>\n");
}

}  // namespace plumb::report
