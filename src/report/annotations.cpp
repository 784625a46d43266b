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
  size_t errors = 1, warnings = 0, left_out = 0;
  if (has_culprit(run)) {
    const result::Finding& first = run.findings.front();
    headline_text +=
        fmt::format("; {}{}", first.operator_name.empty() ? "" : first.operator_name + ": ",
                    cause_in_words(first.cause));
    for (const result::Evidence& evidence : first.evidence) headline_text += "; " + evidence.text;
  }
  text += line("error", fmt::format("plumb: {}", verdict_word(s)), headline_text);
  for (const Row* row : worth_a_look(run)) {
    const bool is_error = row->verdict == Verdict::kFail;
    size_t& count = is_error ? errors : warnings;
    if (count == kMostOfKind) {
      ++left_out;
      continue;
    }
    ++count;
    text += line(is_error ? "error" : "warning", place_text(*row), why_text(*row));
  }
  if (left_out > 0)
    text += line("notice", "plumb", fmt::format("{} more rows are worth a look", left_out));
  return text;
}

}  // namespace plumb::report
