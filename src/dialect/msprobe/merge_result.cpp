// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/merge_result.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "dialect/msprobe/read_table.h"
#include "dialect/msprobe/result_file.h"
#include "dialect/msprobe/yaml_text.h"
#include "dump/names.h"
#include "report/spreadsheet.h"

namespace plumb::msprobe {
namespace {

namespace fs = std::filesystem;
using TextList = std::vector<std::string>;

constexpr std::string_view kGradient = "Requires_grad Consistent";

struct ResultName {
  int64_t rank = 0;
  std::string time;  // with a number behind it if there were several
  int64_t part = 0;  // of a long csv file
};

// compare_result_rank3_20260131235959.csv, or ..._rank3-rank3_...; ..._1.csv, ..._part_2.csv.
std::optional<ResultName> parse_result_name(std::string_view name) {
  constexpr std::string_view kStart = "compare_result_rank", kPart = "_part_";
  if (!name.starts_with(kStart)) return {};
  if (!name.ends_with(".csv") && !name.ends_with(".xlsx")) return {};
  name = name.substr(kStart.size(), name.rfind('.') - kStart.size());
  const size_t line = name.find('_');
  if (line == std::string_view::npos) return {};
  const std::string_view ranks = name.substr(0, line);
  const size_t dash = ranks.find("-rank");
  if (dash != std::string_view::npos && ranks.substr(dash + 5) != ranks.substr(0, dash)) return {};
  const auto rank = dump::number_from(ranks.substr(0, dash));
  const std::string_view time = name.substr(line + 1);
  const size_t part = time.find(kPart);
  const auto number = part == std::string_view::npos
                          ? std::optional<int64_t>(0)
                          : dump::number_from(time.substr(part + kPart.size()));
  if (!rank || !number || time.size() < 14 || !dump::is_digits(time.substr(0, 14))) return {};
  return ResultName{*rank, std::string(time.substr(0, part)), *number};
}

// The files of a result, by part.
struct ResultFiles {
  std::string time;
  std::map<int64_t, fs::path> parts;
};

struct Config {
  TextList apis, columns;  // no columns: all that the results have
};

Result<TextList> list_of(const Yaml& table, std::string_view name) {
  TextList texts;
  const Yaml* list = table.find(name);
  if (list == nullptr || list->is_nothing()) return texts;
  if (list->kind != Yaml::Kind::kList)
    return Error{fmt::format("'{}' is no list", name), fmt::format("line {}", list->line),
                 "write each item on a line of its own: - Distributed.all_reduce"};
  for (const Yaml& item : list->items) texts.push_back(item.text);
  return texts;
}

Result<Config> read_config(const std::string& path) {
  auto yaml = read_yaml(path);
  if (!yaml) return yaml.error();
  Config config;
  for (const auto& [name, list] :
       {std::pair("api", &config.apis), {"compare_index", &config.columns}}) {
    auto texts = list_of(*yaml, name);
    if (!texts) return std::move(texts.error()).in(path);
    *list = std::move(*texts);
  }
  if (config.apis.empty())
    return Error{"the configuration names no API", path, "list them under 'api:'"};
  return config;
}

// Columns of numbers that a result may have, in their order.
TextList known_columns() {
  TextList known;
  for (Mode mode : {Mode::kRealData, Mode::kStatistics})
    for (std::string_view each : metric_columns(mode))
      if (std::find(known.begin(), known.end(), each) == known.end()) known.emplace_back(each);
  known.emplace_back("Five Thousandths Err Ratio");  // as the tool itself spells it
  known.emplace_back(kGradient);
  return known;
}

// What was found of one rank.
struct RankTable {
  TextList columns;
  struct Row {
    size_t api;  // the first that its name fits
    std::string name;
    TextList cells;  // parallel to the columns
  };
  std::vector<Row> rows;
};

class Merge {
 public:
  Merge(const MergeRun& run, Config config) : run_(run), config_(std::move(config)) {}

  Result<Merged> write() {
    auto files = find_results();
    if (!files) return files.error();
    for (const auto& [rank, result] : *files)
      if (auto read = read_rank(rank, result); !read) return read.error();
    if (tables_.empty())
      return Error{"no result has what is to be merged", run_.input.string(),
                   "look up names of APIs and columns in the results"};
    if (auto made = make_directory(run_.output); !made) return made.error();
    if (auto written = write_book(); !written) return written.error();
    return std::move(merged_);
  }

 private:
  // The latest of each rank.
  Result<std::map<int64_t, ResultFiles>> find_results() {
    std::error_code code;
    std::map<int64_t, ResultFiles> results;
    std::set<std::pair<int64_t, std::string>> all;  // ranks and times
    for (fs::directory_iterator at(run_.input, code), end; !code && at != end; at.increment(code)) {
      const auto name = parse_result_name(at->path().filename().string());
      if (!name) continue;
      all.emplace(name->rank, name->time);
      ResultFiles& latest = results[name->rank];
      if (name->time < latest.time) continue;
      if (name->time > latest.time) latest = {name->time, {}};
      latest.parts.insert_or_assign(name->part, at->path());
    }
    if (code)
      return Error{"cannot read the directory", run_.input.string() + ": " + code.message(),
                   "check the path"};
    if (all.size() > results.size())
      warn("{} results are left out: there are later ones of their ranks",
           all.size() - results.size());
    if (results.size() < 2)
      return Error{
          "there is nothing to merge",
          fmt::format("{}: results of {} ranks", run_.input.string(), results.size()),
          "name the directory with compare_result_rankR_TIME.csv or .xlsx of several ranks"};
    return results;
  }

  Result<void> read_rank(int64_t rank, const ResultFiles& files) {
    Reader reader{*this, {}, {}, {}, {}};
    for (const auto& [part, path] : files.parts) {
      auto file = MappedFile::open(path.string());
      if (!file) return file.error();
      if (auto read = read_table(file->bytes(), [&](auto cells) { reader.add(cells); }); !read)
        return std::move(read.error()).in(path.string());
      if (reader.trouble) return std::move(*reader.trouble).in(path.string());
    }
    for (const std::string& api : config_.apis)
      if (!reader.found.contains(api)) warn("rank {} has no {}", rank, api);
    if (reader.table.columns.empty()) {
      warn("rank {} is left out: its result has no numbers to merge", rank);
      return {};
    }
    // The first result decides; others have to be of the same kind.
    if (columns_.empty()) {
      columns_ = config_.columns.empty() ? reader.table.columns : config_.columns;
      for (const std::string& column : columns_)
        if (std::find(reader.table.columns.begin(), reader.table.columns.end(), column) ==
            reader.table.columns.end())
          return Error{fmt::format("no column '{}' in the results", column),
                       files.parts.begin()->second.string(),
                       did_you_mean(column, reader.table.columns) + "the columns are " +
                           fmt::format("{}", fmt::join(reader.table.columns, ", "))};
    }
    const bool has_all = std::all_of(columns_.begin(), columns_.end(), [&](const auto& column) {
      const TextList& own = reader.table.columns;
      return std::find(own.begin(), own.end(), column) != own.end();
    });
    if (!has_all) {
      warn("rank {} is left out: its result has other columns than those before", rank);
      return {};
    }
    // In the order of the APIs as they are given.
    std::stable_sort(reader.table.rows.begin(), reader.table.rows.end(),
                     [](const auto& a, const auto& b) { return a.api < b.api; });
    tables_.emplace(rank, std::move(reader.table));
    return {};
  }

  // Takes the rows of the APIs from a table.
  struct Reader {
    const Merge& merge;
    std::set<std::string> found;  // APIs
    RankTable table;
    struct Places {
      std::optional<size_t> name, target_max, golden_max;
      std::vector<size_t> columns;
    };
    std::optional<Places> places;
    std::optional<Error> trouble;

    static std::string_view cell(std::span<const std::string> cells, size_t i) {
      return i < cells.size() ? std::string_view(cells[i]) : std::string_view();
    }

    // Titles come first, and again on each sheet and in each part.
    void add(std::span<const std::string> cells) {
      if (!places || (cells.size() > *places->name && is_title(cells[*places->name])))
        return read_titles(cells);
      const std::string_view name = cell(cells, *places->name);
      const TextList& apis = merge.config_.apis;
      std::optional<size_t> first;
      for (size_t i = apis.size(); i-- > 0;) {
        if (name.find(apis[i] + ".") == std::string_view::npos) continue;
        found.insert(apis[i]);
        first = i;
      }
      if (!first) return;
      RankTable::Row& row = table.rows.emplace_back(RankTable::Row{*first, std::string(name), {}});
      for (size_t i : places->columns) row.cells.push_back(value(cells, cell(cells, i)));
    }

    // Of an argument that is no tensor, what both sides have instead of a number.
    std::string value(std::span<const std::string> cells, std::string_view text) const {
      const bool is_none = text == "N/A" || text == "unsupported" || text == "Nan";
      if (!is_none || !places->target_max || !places->golden_max) return std::string(text);
      const std::string_view target = cell(cells, *places->target_max);
      const std::string_view golden = cell(cells, *places->golden_max);
      if (target == "N/A" && golden == "N/A") return std::string(text);
      return fmt::format("NPU:{}  Bench:{}", target, golden);
    }

    static bool is_title(std::string_view text) { return text == "NPU Name" || text == "API Name"; }

    void read_titles(std::span<const std::string> cells) {
      static const TextList kKnown = known_columns();
      Places found_places;
      TextList columns;
      for (size_t i = 0; i < cells.size(); ++i) {
        if (is_title(cells[i])) found_places.name = i;
        if (cells[i] == "NPU max") found_places.target_max = i;
        if (cells[i] == "Bench max") found_places.golden_max = i;
        if (std::find(kKnown.begin(), kKnown.end(), cells[i]) == kKnown.end()) continue;
        columns.push_back(cells[i]);
        found_places.columns.push_back(i);
      }
      if (!found_places.name) return;
      if (places && columns != table.columns) {  // cells of earlier rows are parallel to those
        if (!trouble)
          trouble = Error{"the columns are not the same throughout the result",
                          fmt::format("first {}; then {}", fmt::join(table.columns, ", "),
                                      fmt::join(columns, ", ")),
                          "keep results of one kind in a file and its parts"};
        return;
      }
      places = std::move(found_places);
      table.columns = std::move(columns);
    }
  };

  Result<void> write_book() {
    merged_.file =
        free_path(run_.output, "multi_ranks_compare_merge_" + local_time_stamp(), ".xlsx");
    auto sink = FileSink::create(merged_.file);
    if (!sink) return sink.error();
    TextList names;
    std::unordered_map<std::string, std::map<int64_t, const TextList*>> rows;
    for (const auto& [rank, table] : tables_) {
      merged_.ranks.push_back(rank);
      for (const RankTable::Row& each : table.rows) {
        auto& row = rows[each.name];
        if (row.empty()) names.push_back(each.name);
        row.try_emplace(rank, &each.cells);
      }
    }
    report::Spreadsheet book(*sink);
    for (const std::string& column : columns_) {
      std::vector<report::SheetColumn> titles = {{"NPU Name", 60}};
      for (int64_t rank : merged_.ranks) titles.push_back({fmt::format("rank{}", rank)});
      book.begin(column, std::move(titles));
      for (const std::string& name : names) {
        std::vector<report::SheetCell> cells = {name};
        for (const auto& [rank, table] : tables_) {
          const auto found = rows[name].find(rank);
          const auto place = std::find(table.columns.begin(), table.columns.end(), column);
          cells.push_back(
              found == rows[name].end()
                  ? report::SheetCell()
                  : report::SheetCell::number(
                        (*found->second)[static_cast<size_t>(place - table.columns.begin())]));
        }
        book.add(cells);
      }
    }
    book.finish();
    merged_.rows = names.size();
    merged_.sheets = columns_.size();
    return sink->commit();
  }

  template <class... Arguments>
  void warn(fmt::format_string<Arguments...> words, Arguments&&... arguments) {
    merged_.warnings.push_back(fmt::format(words, std::forward<Arguments>(arguments)...));
  }

  const MergeRun& run_;
  const Config config_;
  TextList columns_;
  std::map<int64_t, RankTable> tables_;  // by rank
  Merged merged_;
};

}  // namespace

Result<Merged> merge_results(const MergeRun& run) {
  auto config = read_config(run.config);
  if (!config) return config.error();
  return Merge(run, std::move(*config)).write();
}

}  // namespace plumb::msprobe
