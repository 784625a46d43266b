// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/utf8.h"
#include "result/value_text.h"
#include "tensor/shape.h"

namespace plumb::report {
namespace {

using metrics::Metric;
using metrics::Print;
using metrics::Value;
using result::Colour;
using result::Verdict;

// The second set of control characters, and what changes the direction of writing.
bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Chinese, Japanese and Korean characters, wide forms and pictures take two columns.
bool is_wide(char32_t code) {
  return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
         (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
         (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF01 && code <= 0xFF60) ||
         (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1FAFF) ||
         (code >= 0x20000 && code <= 0x3FFFD);
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t length = std::max<size_t>(1, character_length(text, i));
    width += length > 1 && is_wide(code_point(text.substr(i, length))) ? 2 : 1;
    i += length;
  }
  return width;
}

std::string_view starting(std::string_view text, size_t width) {
  size_t end = 0, used = 0;
  while (end < text.size()) {
    const size_t length = std::max<size_t>(1, character_length(text, end));
    used += display_width(text.substr(end, length));
    if (used > width) break;
    end += length;
  }
  return text.substr(0, end);
}

std::string_view ending(std::string_view text, size_t width) {
  // From the end, a character starts where the bytes before it do not go on in it.
  size_t begin = text.size(), used = 0;
  while (begin > 0) {
    size_t start = begin - 1;
    while (start > 0 && begin - start < 4 && (text[start] & 0xC0) == 0x80) --start;
    if (character_length(text, start) != begin - start) start = begin - 1;
    used += display_width(text.substr(start, begin - start));
    if (used > width) break;
    begin = start;
  }
  return text.substr(begin);
}

std::string printable(std::string_view text) {
  if (is_plain_text(text)) return std::string(text);
  std::string safe;
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_length(text, i);
    const size_t taken = std::max<size_t>(length, 1);
    if (length == 0 || is_control(code_point(text.substr(i, length))))
      for (const unsigned char byte : text.substr(i, taken)) safe += fmt::format("\\x{:02x}", byte);
    else
      safe += text.substr(i, length);
    i += taken;
  }
  return safe;
}

std::string counted(size_t n, std::string_view noun) { return plumb::counted(n, noun); }

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{:.{}f} {}", bytes, bytes < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string shape_text(const result::Side& side) {
  return side.shape ? to_string(*side.shape) : "";
}

std::string limits_text(const result::Run& run) {
  return run.precision.empty() ? run.profile
                               : fmt::format("{}, the target computes in {} (--precision)",
                                             run.profile, run.precision);
}

std::string place_text(const result::Row& row) {
  const result::Side& side = row.any_side();
  std::string text = side.operator_name;
  if (!side.slot.empty()) text += " " + side.slot;
  if (row.step && row.rank)
    text += fmt::format(" [step {}, rank {}]", *row.step, *row.rank);
  else if (row.step)
    text += fmt::format(" [step {}]", *row.step);
  else if (row.rank)
    text += fmt::format(" [rank {}]", *row.rank);
  return text;
}

std::string accuracy_text(const result::Run& run, const result::Accuracy& of) {
  const auto count = std::max<int64_t>(of.samples, 0);
  std::string text = fmt::format("top-1 of {}: the same class on {:.0f} of {}", of.output,
                                 of.agree * static_cast<double>(count),
                                 counted(static_cast<size_t>(count), "sample"));
  if (const auto& first = of.first_disagreement) {
    result::Row row;
    row.step = first->sample;
    const std::string_view name = run.sample_of(row);
    text += fmt::format(" (first: {}{}{} against {})", name, name.empty() ? "" : ": ",
                        first->target, first->golden);
  }
  for (const result::Accuracy::Top& top : of.top)
    text += fmt::format("{}: target {:.2f} %, golden {:.2f} %",
                        top.n == 1 ? "; right" : fmt::format(", top-{}", top.n), top.target * 100,
                        top.golden * 100);
  return text + (of.top.empty() ? "" : fmt::format(" of {}", of.labelled));
}

std::string reasons_text(const result::Row& row) {
  return fmt::format("{}", fmt::join(row.reasons, ", "));
}

std::string why_text(const result::Row& row) {
  return row.message.empty() ? reasons_text(row) : row.message;
}

std::string_view marked_verdict(const result::Row& row) {
  switch (row.verdict) {
    case Verdict::kPass: return row.suspicious ? "~ suspicious" : "✓ pass";
    case Verdict::kFail: return "✗ fail";
    case Verdict::kInconclusive: return "? inconclusive";
    case Verdict::kNotCompared: break;
  }
  return "- not compared";
}

std::string_view verdict_word(const result::Summary& summary) {
  return summary.verdict == Verdict::kNotCompared ? "nothing compared" : name_of(summary.verdict);
}

std::string_view sgr(Colour colour) {
  switch (colour) {
    case Colour::kRed: return "31";
    case Colour::kYellow: return "33";
    case Colour::kGreen: return "32";
    case Colour::kGrey: break;
  }
  return "90";
}

std::string short_number(long double value) {
  return fmt::format("{:.6g}", static_cast<double>(value));
}

std::string rounded_text(const Metric& metric, const Value& value) {
  if (value.is_bound()) return fmt::format("<={:.3g}", value.number());
  if (!value.is_defined()) return "-";
  const double number = value.number();
  if (metric.print != Print::kNumber || !std::isfinite(number))
    return result::exact_text(metric, number);
  std::string text = fmt::format("{:.6g}", number);
  for (int digits = 7; digits <= 17 && text == "1" && number != 1; ++digits)
    text = fmt::format("{:.{}g}", number, digits);
  return text;
}

std::string rounded_text(const std::vector<const Metric*>& columns, const result::Row& row,
                         std::string_view metric) {
  for (size_t i = 0; i < columns.size() && i < row.values.size(); ++i)
    if (columns[i]->name == metric) return rounded_text(*columns[i], row.values[i]);
  return "-";
}

}  // namespace plumb::report
