// SPDX-License-Identifier: Apache-2.0
//
// The result files of `plumb msprobe compare`: the documented columns of each mode first, ours
// behind them, so that scripts which look columns up by name find what the manual promises.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_sink.h"
#include "base/result.h"
#include "msprobe/real_data.h"
#include "msprobe/statistics.h"
#include "result/row.h"

namespace plumb::msprobe {

enum class Mode : uint8_t { kRealData, kStatistics, kChecksum };

// One line. Empty texts and unset numbers are written as N/A.
struct Line {
  std::string api, stack, target_name, golden_name;
  std::vector<std::string> metrics;  // as many as metric_columns() has
  bool requires_grad_agrees = true;
  Judged judged;
  std::optional<int64_t> rank, graph, token;
  std::string_view io, rule;
  std::string target_dtype, golden_dtype;
  std::optional<Shape> target_shape, golden_shape;
  std::optional<SideNumbers> target, golden;
};

std::vector<std::string_view> metric_columns(Mode mode);
std::vector<std::string> metric_cells(const RealData& data);
std::vector<std::string> metric_cells(const Differences& differences);

struct FileStyle {
  Mode mode = Mode::kRealData;
  bool documented_only = false;
};

// One file; it appears when it is committed, and never takes the place of another.
class ResultFile {
 public:
  // `stem` without extension; "_1", "_2" is added if there is such a file.
  static Result<ResultFile> create(const std::filesystem::path& directory, const std::string& stem,
                                   const std::vector<std::string>& header);
  void add(const std::vector<std::string>& cells);
  Result<std::filesystem::path> commit();

 private:
  ResultFile(std::filesystem::path path, FileSink sink)
      : path_(std::move(path)), sink_(std::move(sink)) {}
  std::filesystem::path path_;
  FileSink sink_;
};

std::vector<std::string> header_of(const FileStyle& style);
std::vector<std::string> cells_of(const Line& line, const FileStyle& style);

// What was written, for the last lines on the screen.
struct Written {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;
  int64_t pass = 0, fail = 0, not_compared = 0;
  int64_t compared = 0;  // without being judged
  bool interrupted = false;

  void count(const Judged& judged);
  Result<void> add(ResultFile& file);  // committed
};

Result<void> make_directory(const std::filesystem::path& path);
std::string utc_time_stamp();  // "20260131235959"
std::string local_time_stamp();

}  // namespace plumb::msprobe
