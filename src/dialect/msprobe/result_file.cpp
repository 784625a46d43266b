// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/result_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "compare/elements.h"

namespace plumb::msprobe {
namespace {

namespace fs = std::filesystem;
using report::Fill;
using report::SheetCell;

std::string_view or_none(std::string_view text) { return text.empty() ? kNotKnown : text; }

// Names, places and remarks are long, numbers have the width that their title needs.
double width_of(std::string_view title) {
  if (title.ends_with("path") || title == "Data Name" || title == "Data_name") return 60;
  if (title == "API Name" || title == "NPU Name" || title == "Bench Name" ||
      title.ends_with("message") || title.ends_with("reason"))
    return 40;
  return 0;
}

}  // namespace

std::optional<Shape> index_of(std::optional<int64_t> position, const Shape* shape) {
  if (!position) return {};
  const auto count = shape != nullptr ? element_count(*shape) : std::nullopt;
  return count && *position < *count ? compare::coordinates(*position, *shape) : Shape{*position};
}

std::span<const std::string_view> metric_columns(Mode mode) {
  static constexpr std::string_view kRealData[] = {"Cosine",
                                                   "EucDist",
                                                   "MaxAbsErr",
                                                   "MaxRelativeErr",
                                                   "One Thousandth Err Ratio",
                                                   "Five Thousandth Err Ratio"};
  static constexpr std::string_view kStatistics[] = {
      "Max diff",       "Min diff",       "Mean diff",       "L2norm diff",
      "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"};
  static constexpr std::string_view kChecksum[] = {"NPU MD5", "BENCH MD5"};
  switch (mode) {
    case Mode::kRealData: return kRealData;
    case Mode::kStatistics: return kStatistics;
    case Mode::kChecksum: return kChecksum;
  }
  return {};
}

void append_differences(Cells& cells, const Differences& differences) {
  for (const Difference& each : differences) cells.number(each.difference);
  for (const Difference& each : differences) cells.percent(each.relative);
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

void append_metrics(Cells& cells, const Line& line, Mode mode) {
  if (const auto* real = std::get_if<const RealData*>(&line.metrics)) {
    const RealData& d = **real;
    for (const auto& number : {d.cosine, d.euclid, d.max_abs, d.max_rel, d.below_1e3, d.below_5e3})
      cells.number(number);
  } else if (const auto* differences = std::get_if<const Differences*>(&line.metrics)) {
    append_differences(cells, **differences);
  } else {
    for (size_t i = 0; i < metric_columns(mode).size(); ++i) cells.number({});
  }
}

void append_line_cells(Cells& cells, const Line& line, const FileStyle& style) {
  cells.text(line.api);
  cells.text(or_none(line.stack));
  cells.text({"[", or_none(line.target_name), ", ", or_none(line.golden_name), "]"});
  append_metrics(cells, line, style.mode);
  cells.word(line.requires_grad_agrees ? "True" : "False");
  for (std::string_view word : {line.judged.result, line.judged.accuracy}) cells.word(word);
  cells.text(line.judged.message());
  if (style.documented_only) return;
  cells.word(line.judged.level);
  for (const auto& each : {line.rank, line.graph, line.token}) cells.count(each);
  for (std::string_view word : {line.io, line.rule}) cells.word(or_none(word));
  for (std::string_view text : {line.target_dtype, line.golden_dtype}) cells.text(or_none(text));
  for (const Shape* shape : {line.target_shape, line.golden_shape}) cells.shape(shape);
  for (const auto& side : {line.target, line.golden})
    for (double SideNumbers::*member :
         {&SideNumbers::max, &SideNumbers::min, &SideNumbers::mean, &SideNumbers::l2})
      cells.number(side ? std::optional((*side).*member) : std::nullopt);
  const auto first_bad = index_of(line.first_bad, line.target_shape);
  cells.shape(first_bad ? &*first_bad : nullptr);
}

}  // namespace

Result<ResultFile> ResultFile::create(const fs::path& directory, std::string stem,
                                      const std::vector<std::string>& header, bool as_xlsx,
                                      int64_t most_rows) {
  const auto is_taken = [&](const std::string& name) {
    std::error_code ignored;
    return fs::exists(directory / (name + (as_xlsx ? ".xlsx" : ".csv")), ignored) ||
           fs::exists(directory / (name + "_part_1.csv"), ignored);
  };
  std::string free = stem;
  for (int n = 1; is_taken(free); ++n) free = fmt::format("{}_{}", stem, n);
  ResultFile file(directory / free, most_rows);
  if (!as_xlsx) {
    for (const std::string& title : header) file.titles_.text(title);
    if (auto begun = file.begin_part(); !begun) return begun.error();
    return file;
  }
  file.paths_.push_back(directory / (free + ".xlsx"));
  auto sink = FileSink::create(file.paths_.back());
  if (!sink) return sink.error();
  file.open_.reset(new Open{std::move(*sink), {}});
  std::vector<report::SheetColumn> columns;
  for (const std::string& title : header) columns.push_back({title, width_of(title)});
  file.open_->book.emplace(file.open_->sink);
  file.open_->book->begin("Result", std::move(columns));
  return file;
}

// Only the second file tells that the first is but a part.
Result<void> ResultFile::begin_part() {
  const auto part = [&](size_t n) { return stem_.string() + fmt::format("_part_{}.csv", n); };
  if (open_) {
    if (auto done = open_->sink.commit(); !done) return done;
    if (paths_.size() == 1) {
      std::error_code code;
      fs::rename(paths_[0], part(1), code);
      if (code) return Error{"cannot rename a result", part(1) + ": " + code.message(), ""};
      paths_[0] = part(1);
    }
  }
  paths_.push_back(paths_.empty() ? stem_.string() + ".csv" : part(paths_.size() + 1));
  auto sink = FileSink::create(paths_.back());
  if (!sink) return sink.error();
  open_.reset(new Open{std::move(*sink), {}});
  write(titles_);
  rows_ = 0;
  return {};
}

void ResultFile::add(const Cells& cells, Fill fill) {
  if (failed_) return;
  if (open_->book) {
    std::vector<SheetCell> row;
    for (size_t i = 0; i < cells.size(); ++i)
      row.push_back(cells.is_number(i) ? SheetCell::number(std::string(cells[i]))
                                       : SheetCell(cells[i]));
    return open_->book->add(row, fill);
  }
  if (rows_ == most_rows_)
    if (auto begun = begin_part(); !begun) {
      failed_ = begun.error();
      return;
    }
  write(cells);
  ++rows_;
}

void ResultFile::write(const Cells& cells) {
  line_.clear();
  cells.append_csv(line_);
  line_ += '\n';
  open_->sink.write(line_);
}

Result<std::vector<fs::path>> ResultFile::commit() {
  if (failed_) return *failed_;
  if (open_->book) open_->book->finish();
  if (auto done = open_->sink.commit(); !done) return done.error();
  return paths_;
}

Fill fill_of(const Judged& judged) {
  if (judged.result == "FAIL" || judged.level == "error") return Fill::kRed;
  return judged.result == "N/A" || judged.level == "warning" ? Fill::kYellow : Fill::kGreen;
}

void Written::add(const Line& line, const FileStyle& style, ResultFile& file) {
  const Fill fill = fill_of(line.judged);
  cells.clear();
  append_line_cells(cells, line, style);
  file.add(cells, fill);
  ++(line.judged.result == "PASS" ? pass : line.judged.result == "FAIL" ? fail : not_compared);
  if (fill == Fill::kGreen) return;
  Notable row{std::string(line.api), line.io, line.rank, line.token, {}, {}, line.judged, 0, 0};
  if (const auto* real = std::get_if<const RealData*>(&line.metrics)) {
    row.cosine = (*real)->cosine;
    row.max_rel = (*real)->max_rel;
  }
  note(std::move(row), fill);
}

void Written::note(Notable row, Fill fill) {
  if (fill == Fill::kGreen) return;
  row.order = all_notable++;
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
  auto paths = file.commit();
  if (!paths) return paths.error();
  files.insert(files.end(), paths->begin(), paths->end());
  return {};
}

std::string name_of_result(std::string_view name, std::optional<int64_t> rank,
                           std::string_view time) {
  return fmt::format("{}{}_{}", name, rank ? fmt::format("_rank{}", *rank) : "", time);
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

}  // namespace plumb::msprobe
