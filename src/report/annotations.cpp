// SPDX-License-Identifier: Apache-2.0
#include "report/annotations.h"

#include <fmt/format.h>

#include "report/findings_text.h"
#include "report/headline.h"
#include "report/ranking.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Verdict;

constexpr size_t kMostOfKind = 10;  // of a kind

// A percent sign begins a code; a title ends at a colon or comma.
std::string escaped(std::string_view text, bool is_title) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '%')
      safe += "%25";
    else if (is_title && c == ':')
      safe += "%3A";
    else if (is_title && c == ',')
      safe += "%2C";
    else
      safe += c;
  }
  return safe;
}

std::string line(std::string_view kind, std::string_view title, std::string_view text) {
  return fmt::format("::{} title={}::{}\n", kind, escaped(title, true), escaped(text, false));
}

}  // namespace

std::string annotations(const Run& run) {
  const result::Summary s = run.summary();
  std::string text, headline_text = headline(run, s);
  if (s.verdict == Verdict::kPass) return line("notice", "plumb: pass", headline_text);
  if (has_culprit(run)) {
    const result::Finding& first = run.findings.front();
    headline_text +=
        fmt::format("; {}{}", first.operator_name.empty() ? "" : first.operator_name + ": ",
                    cause_in_words(first));
    for (const result::Evidence& evidence : first.evidence) headline_text += "; " + evidence.text;
  }
  text += line("error", fmt::format("plumb: {}", verdict_word(s)), headline_text);
  const auto is_failure = [](const Row& row) { return row.verdict == Verdict::kFail; };
  const ShownRows errors = worth_a_look(run, kMostOfKind - 1, is_failure),  // one is told already
      warnings = worth_a_look(run, kMostOfKind, std::not_fn(is_failure));
  for (const Row* row : errors.rows) text += line("error", place_text(*row), why_text(*row));
  for (const Row* row : warnings.rows) text += line("warning", place_text(*row), why_text(*row));
  if (const size_t more = errors.more + warnings.more; more > 0)
    text += line("notice", "plumb", fmt::format("{} more rows are worth a look", more));
  return text;
}

}  // namespace plumb::report
