// SPDX-License-Identifier: Apache-2.0
//
// The result files of `plumb msprobe compare`, and the lines of mode torchair (those of mode auto
// are in dialect/msprobe/general_table.h): the documented columns first, ours behind them, so that
// scripts which look columns up by name find what the manual promises.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file_sink.h"
#include "base/free_path.h"
#include "dialect/msprobe/cells.h"
#include "dialect/msprobe/difference_files.h"
#include "dialect/msprobe/real_data.h"
#include "dialect/msprobe/statistics.h"
#include "plumb/result.h"
#include "plumb/row.h"
#include "report/spreadsheet.h"

namespace plumb::msprobe {

// What every comparison is asked for.
struct CompareRun {
  std::string target, golden;
  std::filesystem::path output = ".";
  bool documented_only = false;
  bool as_xlsx = false;
  std::vector<std::string> notes;  // on its options
};

// One line, which borrows its texts. Empty texts and unset numbers are written as N/A.
struct Line {
  std::string_view api, stack, target_name, golden_name;
  std::variant<std::monostate, const RealData*, const Differences*> metrics;
  bool requires_grad_agrees = true;
  Judged judged;
  std::optional<int64_t> rank, graph, token;
  std::string_view io, rule;
  std::string_view target_dtype, golden_dtype;
  const Shape *target_shape = nullptr, *golden_shape = nullptr;
  std::optional<SideNumbers> target, golden;
  std::optional<int64_t> first_bad;  // position in the target
};

std::span<const std::string_view> metric_columns(Mode mode);
void append_differences(Cells& cells, const Differences& differences);  // of statistics

struct FileStyle {
  Mode mode = Mode::kRealData;
  bool documented_only = false;
  bool as_xlsx = false;  // with coloured rows, instead of csv
};

inline constexpr int64_t kMostCsvRows = 1'000'000;  // as the tool: more than spreadsheets read

// A result; it appears when it is committed, and never takes the place of another. Long csv files
// are several, NAME_part_1.csv and so on; a workbook has several sheets.
class ResultFile {
 public:
  // `stem` without extension; "_1", "_2" is added if there is such a file. `most_rows` is for
  // tests.
  static Result<ResultFile> create(const std::filesystem::path& directory, std::string stem,
                                   const std::vector<std::string>& header, bool as_xlsx,
                                   int64_t most_rows = kMostCsvRows);
  void add(const Cells& cells, report::Fill fill = report::Fill::kNone);
  Result<std::vector<std::filesystem::path>> commit();

 private:
  struct Open {
    FileSink sink;
    std::optional<report::Spreadsheet> book;  // writes into the sink
  };
  ResultFile(std::filesystem::path stem, int64_t most_rows)
      : stem_(std::move(stem)), most_rows_(most_rows) {}
  Result<void> begin_part();
  void write(const Cells& cells);

  std::filesystem::path stem_;
  int64_t most_rows_;
  Cells titles_;
  std::vector<std::filesystem::path> paths_;  // the last one is open
  std::unique_ptr<Open> open_;
  int64_t rows_ = 0;             // in it
  std::optional<Error> failed_;  // one of the parts
  std::string line_;             // being put together
};

std::vector<std::string> header_of(const FileStyle& style);

// Where a position in a tensor of this shape is.
std::optional<Shape> index_of(std::optional<int64_t> position, const Shape* shape);

// Red for FAIL and errors, yellow for warnings and what has no counterpart, green for the rest.
report::Fill fill_of(const Judged& judged);

// A row that the screen shows.
struct Notable {
  std::string api;
  std::string_view io;
  std::optional<int64_t> rank, token;
  std::optional<double> cosine, max_rel;  // of tensors
  Judged judged;
  double badness = 0;
  int64_t order = 0;
};

// What was written, for the last lines on the screen.
struct Written {
  static constexpr size_t kMostNotable = 10;
  std::vector<Notable> notable;  // red and yellow rows, worst first; not all of them
  int64_t all_notable = 0;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;
  int64_t pass = 0, fail = 0, not_compared = 0;
  int64_t compared = 0;            // without being judged
  bool has_several_steps = false;  // in the target ...
  bool has_several_ranks = false;
  bool has_levels = false;  // pass, warning and error are counted ...
  int64_t warned = 0;       // ... and these are warnings, what was not compared among them
  bool interrupted = false;
  std::optional<FirstDifferences> first;  // if these were asked for
  Cells cells;                            // of the line being written

  void add(const Line& line, const FileStyle& style, ResultFile& file);
  void note(Notable row, report::Fill fill);  // for the screen, unless it is all right
  Result<void> add(ResultFile& file);         // committed
};

Result<void> make_directory(const std::filesystem::path& path);
// "name_rank3_time", without a rank "name_time"
std::string name_of_result(std::string_view name, std::optional<int64_t> rank,
                           std::string_view time);

}  // namespace plumb::msprobe
