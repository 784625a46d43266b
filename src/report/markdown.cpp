// SPDX-License-Identifier: Apache-2.0
//
// A page to paste into a merge request: the verdict, who is to blame and why, and, folded up, the
// rows worth a look worst first and what was not compared. Whatever comes from files stands in code
// spans, where it can neither format the page nor call on people (@name).
#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "report/baseline_text.h"
#include "report/findings_text.h"
#include "report/headline.h"
#include "report/ranking.h"
#include "report/text.h"
#include "report/writer.h"

namespace plumb::report {
namespace {

using result::InputSide;
using result::Row;
using result::Run;
using result::Summary;
using result::Verdict;

constexpr size_t kMostMarkdownRows = 50;
constexpr std::array kMetricsInMarkdown = {"cosine", "rel_euclid", "max_abs", "max_rel"};

// The fence is longer than any run of backticks inside; a pipe would end the table's cell even
// here.
std::string code(std::string_view text) {
  if (text.empty()) return "";
  std::string safe;
  size_t longest = 0, ticks = 0;
  for (const char c : printable(text)) {
    ticks = c == '`' ? ticks + 1 : 0;
    longest = std::max(longest, ticks);
    if (c == '|') safe += '\\';
    safe += c;
  }
  const std::string fence(longest + 1, '`');
  const bool pad = longest > 0 || safe.front() == ' ' || safe.back() == ' ';
  return fence + (pad ? " " + safe + " " : safe) + fence;
}

std::string side_in_markdown(const InputSide& side) {
  return code(side.path) + (side.convention.empty() ? "" : " (" + side.convention + ")");
}

std::string row_verdict_text(const Row& row) {
  if (row.verdict == Verdict::kPass && row.suspicious) return "suspicious";
  return std::string(row.verdict == Verdict::kNotCompared ? "not compared" : name_of(row.verdict));
}

void put_table(const Run& run, const ShownRows& worst, const Put& put) {
  std::vector<const metrics::Metric*> shown;
  for (const metrics::Metric* metric : run.metrics)
    if (std::find(kMetricsInMarkdown.begin(), kMetricsInMarkdown.end(), metric->name) !=
        kMetricsInMarkdown.end())
      shown.push_back(metric);
  const bool has_samples = run.samples.size() > 1;
  put(has_samples ? "| verdict | operator and slot | sample | reasons |"
                  : "| verdict | operator and slot | reasons |");
  for (const metrics::Metric* metric : shown) put(fmt::format(" {} |", metric->name));
  put(has_samples ? " what |\n|---|---|---|---|" : " what |\n|---|---|---|");
  for (size_t i = 0; i < shown.size(); ++i) put("---:|");
  put("---|\n");
  for (const Row* each : worst.rows) {
    const Row& row = *each;
    put(fmt::format("| {} | {} |", row_verdict_text(row), code(place_text(row))));
    if (has_samples) put(fmt::format(" {} |", code(run.sample_of(row))));
    put(fmt::format(" {} |", code(reasons_text(row))));
    for (const metrics::Metric* metric : shown)
      put(fmt::format(" {} |", rounded_text(*metric, run.value(row, metric->name))));
    const std::string hint = row.hint.empty() ? "" : "; " + row.hint;
    put(fmt::format(" {} |\n", code(row.message + (row.message.empty() ? row.hint : hint))));
  }
  if (worst.more > 0) put(fmt::format("\n… and {} more.\n", worst.more));
}

void put_left_out(const Run& run, const Put& put) {
  put("| reason | rows | which |\n|---|---:|---|\n");
  for (const LeftOut& group : left_out_by_reason(run)) {
    std::string names;
    for (const Row* row : group.rows) names += (names.empty() ? "" : ", ") + code(place_text(*row));
    if (group.count > group.rows.size()) names += ", …";
    put(fmt::format("| {} | {} | {} |\n", code(group.reason), group.count, names));
  }
}

void put_baseline(const result::Baseline& baseline, const Put& put) {
  put(fmt::format("\n### Baseline: {}\n\n{}\n", baseline.holds() ? "pass" : "fail",
                  code(baseline_text(baseline))));
  for (const std::string& warning : baseline.warnings)
    put(fmt::format("\nWarning: {}\n", code(warning)));
  size_t worse = 0, operators = 0;
  for (const result::TensorChange& change : baseline.tensors) {
    if (!change.is_worse || ++worse > kMostMarkdownRows) continue;
    if (worse == 1) put("\n| worse | | before and now |\n|---|---|---|\n");
    put(fmt::format("| {} | {} | {} |\n", code(place_text(change)),
                    change.is_output ? "output" : "inside", code(numbers_text(change))));
  }
  if (worse > kMostMarkdownRows) put(fmt::format("\n… and {} more.\n", worse - kMostMarkdownRows));
  for (const result::OperatorChange& change : baseline.operators) {
    if (++operators > kMostMarkdownRows) continue;
    if (operators == 1) put("\n| | operator |\n|---|---|\n");
    put(fmt::format("| {} | {} |\n", name_of(change.change), code(change_text(change))));
  }
  if (operators > kMostMarkdownRows)
    put(fmt::format("\n… and {} more.\n", operators - kMostMarkdownRows));
}

void put_notes(const Run& run, const Put& put) {
  for (const auto* list : {&run.doubts, &run.warnings})
    for (const std::string& warning : *list) put(fmt::format("\nWarning: {}\n", code(warning)));
  for (const auto& [name, side] : {std::pair("target", &run.target), {"golden", &run.golden}}) {
    if (side->files_left_out > 0)
      put(fmt::format("\n{}: {} no tensors and left out.\n", name,
                      side->files_left_out == 1
                          ? "1 file is"
                          : fmt::format("{} files are", side->files_left_out)));
    for (const std::string& warning : side->warnings)
      put(fmt::format("\nWarning, {}: {}\n", name, code(warning)));
  }
}

// What a reader opens when the sentences above are not enough. The blank lines make what is inside
// Markdown again.
void fold(std::string_view title, const Put& put, const std::function<void()>& put_inside) {
  put(fmt::format("\n<details><summary>{}</summary>\n\n", title));
  put_inside();
  put("\n</details>\n");
}

// Who is to blame, why, the numbers behind it, and the next command.
void put_finding(const result::Finding& finding, const Put& put) {
  const std::string cause = cause_in_words(finding);
  const std::string what =
      !suspects_of(finding).empty()
          ? code(finding_title(finding))
          : fmt::format("{}{}",
                        finding.operator_name.empty() ? "" : code(finding.operator_name) + ": ",
                        finding.detail.empty() ? cause : code(cause));  // details hold names
  put(fmt::format("\n**{}** ({:.0f} % sure)\n", what, 100 * finding.confidence));
  for (const result::Evidence& evidence : finding.evidence)
    put(fmt::format("- {}\n", code(evidence.text)));
  if (!finding.next.empty()) put(fmt::format("\nNext: {}\n", code(finding.next)));
}

}  // namespace

void write_markdown(const Run& run, const Put& put) {
  const Summary s = run.summary();
  std::string sentence = headline(run, s);
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  put(fmt::format("## plumb {}: {}\n\n**{}.**\n", run.command, verdict_word(s), sentence));
  if (!run.findings.empty()) put_finding(run.findings.front(), put);
  if (const Row* const row = divergence_of(run, s).row; row != nullptr) {
    const std::string_view title = run.is_ordered
                                       ? "First divergence, in order of execution"
                                       : "Worst divergence; the order of execution is not recorded";
    put(fmt::format("\n{}: {}{}{}\n", title, code(place_text(*row)),
                    row->message.empty() ? "" : ": ", code(row->message)));
  }
  put(fmt::format("\n| | |\n|---|---|\n| target | {} |\n| golden | {} |\n| profile | {} |\n",
                  side_in_markdown(run.target), side_in_markdown(run.golden),
                  code(limits_text(run))));
  put(fmt::format("| rows | {} |\n", totals_text(s)));
  if (s.suspicious > 0) put(fmt::format("| suspicious | {} of the passes |\n", s.suspicious));
  if (s.filtered > 0) put(fmt::format("| filtered | {} of the not compared |\n", s.filtered));
  put(fmt::format("| coverage | {} |\n", coverage_text(s)));
  if (s.outputs.rows > 0) put(fmt::format("| outputs | {} |\n", outputs_text(s)));
  if (run.samples.size() > 1) put(fmt::format("| samples | {} |\n", run.samples.size()));
  for (const result::Accuracy& of : run.accuracy)
    put(fmt::format("| classes | {} |\n", code(accuracy_text(run, of))));
  if (run.baseline) put_baseline(*run.baseline, put);
  const ShownRows shown = worth_a_look(
      run, kMostMarkdownRows, [](const Row& row) { return row.verdict != Verdict::kNotCompared; });
  if (run.findings.size() > 1)
    fold(counted(run.findings.size() - 1, "further finding"), put, [&] {
      for (const result::Finding& finding : std::span(run.findings).subspan(1))
        put_finding(finding, put);
    });
  if (!shown.rows.empty())
    fold(counted(shown.rows.size() + shown.more, "row") + " worth a look, worst first", put,
         [&] { put_table(run, shown, put); });
  if (s.not_compared > 0)
    fold(counted(static_cast<size_t>(s.not_compared), "row") + " not compared", put,
         [&] { put_left_out(run, put); });
  put_notes(run, put);
}

}  // namespace plumb::report
