// SPDX-License-Identifier: Apache-2.0
#include "msprobe/result_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/free_path.h"
#include "compare/elements.h"

namespace plumb::msprobe {
namespace {

namespace fs = std::filesystem;
using report::Fill;
using report::SheetCell;

constexpr std::string_view kNone = "N/A";

bool is_number(std::string_view text) {
  double number = 0;
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

// A spreadsheet would run a name that starts like a formula; an apostrophe marks it as text.
void append_cell(std::string& line, std::string_view text) {
  const bool is_formula = !text.empty() &&
                          std::string_view("=+-@").find(text.front()) != std::string_view::npos &&
                          !is_number(text);
  const bool is_quoted = std::any_of(text.begin(), text.end(), [](char c) {
    return c == '"' || c == ',' || c == '\r' || c == '\n';
  });
  if (is_quoted) line += '"';
  if (is_formula) line += '\'';
  if (!is_quoted) {
    line += text;
    return;
  }
  for (const char c : text) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

std::string_view or_none(std::string_view text) { return text.empty() ? kNone : text; }
std::string or_none(const std::optional<Shape>& shape) {
  return shape ? plumb::to_string(*shape) : std::string(kNone);
}

std::optional<double> number_from(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// "[0, 3, 1]"
std::string index_of(const Line& line) {
  if (!line.first_bad) return std::string(kNone);
  const auto count = line.target_shape ? element_count(*line.target_shape) : std::nullopt;
  const bool is_inside = count && *line.first_bad < *count;
  return plumb::to_string(is_inside ? compare::coordinates(*line.first_bad, *line.target_shape)
                                    : Shape{*line.first_bad});
}

// Names, places and remarks are long, numbers have the width that their title needs.
double width_of(std::string_view title) {
  if (title.ends_with("path") || title == "Data Name") return 60;
  if (title == "API Name" || title.ends_with("message") || title.ends_with("reason")) return 40;
  return 0;
}

std::string time_stamp(const std::tm& time) {
  char text[16];
  std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &time);
  return text;
}

}  // namespace

std::vector<std::string_view> metric_columns(Mode mode) {
  switch (mode) {
    case Mode::kRealData:
      return {"Cosine",
              "EucDist",
              "MaxAbsErr",
              "MaxRelativeErr",
              "One Thousandth Err Ratio",
              "Five Thousandth Err Ratio"};
    case Mode::kStatistics:
      return {"Max diff",       "Min diff",       "Mean diff",       "L2norm diff",
              "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"};
    case Mode::kChecksum: return {"NPU MD5", "BENCH MD5"};
  }
  return {};
}

Cells metric_cells(const RealData& d) {
  Cells cells;
  for (const auto& number : {d.cosine, d.euclid, d.max_abs, d.max_rel, d.below_1e3, d.below_5e3})
    cells.number(number);
  return cells;
}

Cells metric_cells(const Differences& differences) {
  Cells cells;
  for (const Difference& each : differences) cells.number(each.difference);
  for (const Difference& each : differences) cells.percent(each.relative);
  return cells;
}

std::vector<std::string> header_of(const FileStyle& style) {
  std::vector<std::string> header = {"API Name", "Stack Info", "Data Name"};
  for (std::string_view column : metric_columns(style.mode)) header.emplace_back(column);
  for (const char* column :
       {"Requires_grad Consistent", "Result", "Accuracy Reached or Not", "Err_message"})
    header.emplace_back(column);
  if (style.documented_only) return header;
  for (const char* column :
       {"Level", "Rank ID", "Graph ID", "Token ID", "IO", "Match Rule", "NPU Dtype", "Bench Dtype",
        "NPU Tensor Shape", "Bench Tensor Shape", "NPU max", "NPU min", "NPU mean", "NPU l2norm",
        "Bench max", "Bench min", "Bench mean", "Bench l2norm", "First Bad Index"})
    header.emplace_back(column);
  return header;
}

namespace {

void append_cells(Cells& cells, const Line& line, const FileStyle& style) {
  cells.text(line.api);
  cells.text(or_none(line.stack));
  cells.text(
      fmt::format(FMT_COMPILE("[{}, {}]"), or_none(line.target_name), or_none(line.golden_name)));
  cells.add(line.metrics);
  for (size_t i = line.metrics.size(); i < metric_columns(style.mode).size(); ++i) cells.number({});
  for (std::string_view text :
       {std::string_view(line.requires_grad_agrees ? "True" : "False"), line.judged.result,
        line.judged.accuracy, std::string_view(line.judged.message)})
    cells.text(text);
  if (style.documented_only) return;
  cells.text(line.judged.level);
  for (const auto& each : {line.rank, line.graph, line.token}) cells.count(each);
  for (std::string_view text : {line.io, line.rule, std::string_view(line.target_dtype),
                                std::string_view(line.golden_dtype)})
    cells.text(or_none(text));
  cells.text(or_none(line.target_shape));
  cells.text(or_none(line.golden_shape));
  for (const auto& side : {line.target, line.golden})
    for (double SideNumbers::*member :
         {&SideNumbers::max, &SideNumbers::min, &SideNumbers::mean, &SideNumbers::l2})
      cells.number(side ? std::optional((*side).*member) : std::nullopt);
  cells.text(index_of(line));
}

}  // namespace

Result<ResultFile> ResultFile::create(const fs::path& directory, const std::string& stem,
                                      const std::vector<std::string>& header, bool as_xlsx) {
  fs::path path = free_path(directory, stem, as_xlsx ? ".xlsx" : ".csv");
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  ResultFile file(std::move(path), std::move(*sink));
  if (!as_xlsx) {
    Cells titles;
    for (const std::string& title : header) titles.text(title);
    file.add(titles);
    return file;
  }
  std::vector<report::SheetColumn> columns;
  for (const std::string& title : header) columns.push_back({title, width_of(title)});
  file.open_->book.emplace(file.open_->sink);
  file.open_->book->begin("Result", std::move(columns));
  return file;
}

void ResultFile::add(const Cells& cells, Fill fill) {
  if (open_->book) {
    std::vector<SheetCell> row;
    for (size_t i = 0; i < cells.size(); ++i)
      row.push_back(cells.is_number(i) ? SheetCell::number(std::string(cells[i]))
                                       : SheetCell(cells[i]));
    return open_->book->add(row, fill);
  }
  line_.clear();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line_ += ',';
    if (cells.is_number(i))
      line_ += cells[i];
    else
      append_cell(line_, cells[i]);
  }
  line_ += '\n';
  open_->sink.write(line_);
}

Result<fs::path> ResultFile::commit() {
  if (open_->book) open_->book->finish();
  if (auto done = open_->sink.commit(); !done) return done.error();
  return path_;
}

Fill fill_of(const Judged& judged) {
  if (judged.result == "FAIL" || judged.level == "error") return Fill::kRed;
  return judged.result == "N/A" || judged.level == "warning" ? Fill::kYellow : Fill::kGreen;
}

void Written::add(const Line& line, const FileStyle& style, ResultFile& file) {
  const Fill fill = fill_of(line.judged);
  cells.clear();
  append_cells(cells, line, style);
  file.add(cells, fill);
  ++(line.judged.result == "PASS" ? pass : line.judged.result == "FAIL" ? fail : not_compared);
  if (fill == Fill::kGreen) return;

  Notable row{line.api, line.io, line.rank, line.token, {}, {}, line.judged, 0, all_notable++};
  if (style.mode == Mode::kRealData && line.metrics.size() > 0) {
    row.cosine = number_from(line.metrics[0]);
    row.max_rel = number_from(line.metrics[3]);
  }
  // Failures that have no number come first: NaN, other sizes.
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool has_cosine = row.cosine && !std::isnan(*row.cosine);
  const bool has_ratio = row.max_rel && std::isfinite(*row.max_rel);
  row.badness = has_cosine ? 1 - *row.cosine : has_ratio ? *row.max_rel / (1 + *row.max_rel) : kInf;
  if (fill == Fill::kYellow) row.badness = std::isfinite(row.badness) ? row.badness - 10 : -kInf;
  const auto is_worse = [](const Notable& a, const Notable& b) {
    return a.badness != b.badness ? a.badness > b.badness : a.order < b.order;
  };
  notable.insert(std::upper_bound(notable.begin(), notable.end(), row, is_worse), row);
  if (notable.size() > kMostNotable) notable.pop_back();
}

Result<void> Written::add(ResultFile& file) {
  auto path = file.commit();
  if (!path) return path.error();
  files.push_back(std::move(*path));
  return {};
}

Result<void> make_directory(const fs::path& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return {};
  fs::create_directories(path, code);
  if (!code && fs::is_directory(path, code)) return {};
  return Error{"the output directory cannot be made",
               fmt::format("{}: {}", path.string(), code ? code.message() : "it is a file"),
               "choose another one with -o"};
}

std::string utc_time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  ::gmtime_r(&now, &time);
  return time_stamp(time);
}

std::string local_time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  ::localtime_r(&now, &time);
  return time_stamp(time);
}

}  // namespace plumb::msprobe
