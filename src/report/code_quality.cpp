// SPDX-License-Identifier: Apache-2.0
//
// What GitLab shows beside the changes of a merge request (artifacts:reports:codequality): the
// findings, then the rows worth a look. A problem is known again by its fingerprint, so that only
// new ones stand out: it is made of names and reasons, never of numbers.
#include <map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "report/findings_text.h"
#include "report/ranking.h"
#include "report/text.h"
#include "report/writer.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Verdict;

constexpr size_t kMostIssues = 500;

// FNV-1a, twice.
std::string fingerprint(std::string_view text) {
  const auto hash = [&](uint64_t state) {
    for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return state;
  };
  return fmt::format("{:016x}{:016x}", hash(0xcbf29ce484222325), hash(0x84222325cbf29ce4));
}

std::string_view severity(const Row& row) {
  if (row.verdict == Verdict::kFail) return row.is_model_output ? "critical" : "major";
  return row.verdict == Verdict::kPass ? "info" : "minor";
}

class Problems {
 public:
  explicit Problems(const Put& put) : put_(put) { put_("["); }
  ~Problems() { put_(is_first_ ? "]\n" : "\n]\n"); }

  void add(std::string_view check, std::string_view about, std::string_view text,
           std::string_view severity, std::string_view path) {
    const std::string key = fmt::format("{}\n{}", check, about);
    const int64_t again = seen_[key]++;
    put_(fmt::format(
        "{}\n  {{\"description\": {}, \"check_name\": {}, \"fingerprint\": \"{}\", "
        "\"severity\": \"{}\", \"location\": {{\"path\": {}, \"lines\": {{\"begin\": 1}}}}}}",
        is_first_ ? "" : ",", json_text(printable(text)), json_text(check),
        fingerprint(again == 0 ? key : fmt::format("{}\n{}", key, again)), severity,
        json_text(path)));
    is_first_ = false;
  }

 private:
  const Put& put_;
  std::map<std::string, int64_t> seen_;
  bool is_first_ = true;
};

}  // namespace

void write_code_quality(const Run& run, const Put& put) {
  Problems problems(put);
  for (const result::Finding& finding : run.findings) {
    std::string text = finding.operator_name.empty() ? "" : finding.operator_name + ": ";
    text += cause_in_words(finding);
    for (const result::Evidence& evidence : finding.evidence) text += "; " + evidence.text;
    problems.add("plumb/" + finding.cause, finding.operator_name, text, "critical",
                 run.target.path);
  }
  const ShownRows shown = worth_a_look(run, kMostIssues);
  for (const Row* each : shown.rows) {
    const Row& row = *each;
    const std::string place = place_text(row) + (row.graph.empty() ? "" : " in " + row.graph);
    const std::string why = why_text(row);
    problems.add("plumb/" + (row.reasons.empty() ? "near_limit" : row.reasons.front()), place,
                 place + (why.empty() ? "" : ": " + why), severity(row), run.target.path);
  }
  if (shown.more > 0)
    problems.add("plumb/more", "", fmt::format("{} more rows are worth a look", shown.more), "info",
                 run.target.path);
}

}  // namespace plumb::report
