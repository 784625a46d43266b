// SPDX-License-Identifier: Apache-2.0
#include "msprobe/general.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "compare/stream.h"
#include "dump/stack_json.h"
#include "msprobe/collector.h"
#include "msprobe/dtype_match.h"
#include "msprobe/row_name.h"

namespace plumb::msprobe {
namespace {

using compare::PlannedRow;
using dump::DumpSet;
using dump::Entry;
using dump::SlotKind;

// The second word of an API's name: what it does.
std::string_view function_of(std::string_view api) {
  const size_t dot = api.find('.');
  if (dot == std::string_view::npos) return {};
  api.remove_prefix(dot + 1);
  return api.substr(0, api.find('.'));
}

bool is_argument(const Entry& entry) { return !entry.recorded_shape && entry.parts.empty(); }

const Shape* shape_of(const Entry& entry) {
  return entry.recorded_shape ? &*entry.recorded_shape : nullptr;
}

bool may_be_compared(const Entry& target, const Entry& golden) {
  return is_argument(target) || is_argument(golden) ||
         dtypes_match(target.dtype_text, golden.dtype_text);
}

std::optional<Mode> mode_of(const DumpSet& set) {
  bool any_checksum = false, any = false;
  for (const Entry& entry : set.entries) {
    if (!entry.parts.empty()) return Mode::kRealData;
    any_checksum |= entry.statistics && !entry.statistics->checksum.empty();
    any |= entry.statistics.has_value();
  }
  if (!any) return {};
  return any_checksum ? Mode::kChecksum : Mode::kStatistics;
}

const char* words_of(Mode mode) {
  return mode == Mode::kRealData ? "tensors" : mode == Mode::kChecksum ? "checksums" : "statistics";
}

class Comparison {
 public:
  Comparison(const GeneralRun& run, const DumpSet& target, const DumpSet& golden, Mode mode)
      : target_(target),
        golden_(golden),
        mapping_(run.mapping),
        output_(run.output),
        style_{mode, run.documented_only, run.as_xlsx} {}

  Result<Written> write(const RunContext& context) {
    Written written;
    if (auto planned = make_plan(written.warnings); !planned) return planned.error();
    auto rules = compare::load_rules("torchair", "");
    if (!rules) return rules.error();
    compare::StreamOptions options{*rules, {}, {}, false, nullptr};
    for (const char* name : {"cosine", "euclid", "max_abs", "max_rel", "rel_below_1e3"})
      options.columns.push_back(metrics::metric_by_name(name));
    options.passes = compare::Passes::for_metrics(options.columns);
    const compare::Sides sides{target_, golden_, nullptr, {}, {}};
    Collector collector(plan_, style_.documented_only ? nullptr : &sides, context);
    options.observer = &collector;
    collector_ = &collector;
    // What was recorded is judged by msprobe's own rules, below.
    if (style_.mode == Mode::kRealData)
      rows_ = compare::stream(sides, plan_, options, context).rows;

    written.interrupted = context.cancelled;
    std::map<std::optional<int64_t>, Rows> by_rank;
    size_t golden_only = 0;
    for (size_t i = 0; i < plan_.size(); ++i)
      if (plan_[i].target != nullptr) by_rank[plan_[i].target->rank].both.push_back(i);
    for (size_t i = 0; i < plan_.size(); ++i) {
      // Nobody knows what a dump.json that cannot be read held, so that it has no line.
      if (plan_[i].target == nullptr && plan_[i].golden == nullptr) {
        written.warnings.push_back(plan_[i].message);
        ++written.not_compared;
      }
      if (plan_[i].target != nullptr || plan_[i].golden == nullptr) continue;
      // Of one rank each, whatever their numbers.
      Rows& rows = by_rank.size() == 1 ? by_rank.begin()->second : by_rank[plan_[i].golden->rank];
      rows.golden_only.push_back(i);
      ++golden_only;
    }
    if (golden_only > 0)
      written.warnings.push_back(
          fmt::format("{} tensors and arguments of golden are not in target", golden_only));
    for (auto& [rank, rows] : by_rank) {
      const auto is_before = [&](size_t a, size_t b) {
        return row_is_before(*plan_[a].target, *plan_[b].target);
      };
      if (!std::is_sorted(rows.both.begin(), rows.both.end(), is_before))
        std::sort(rows.both.begin(), rows.both.end(), is_before);
      if (auto done = write_rank(rank, rows, written); !done) return done.error();
    }
    return written;
  }

 private:
  // Of one file, by position in the plan.
  struct Rows {
    std::vector<size_t> both;  // or target only
    std::vector<size_t> golden_only;
  };

  Result<void> make_plan(std::vector<std::string>& warnings) {
    compare::PlanOptions options;
    Result<compare::Choices> choices = compare::Choices();
    if (mapping_.any()) {
      choices = choose_partners(mapping_, target_, golden_, warnings);
      if (!choices) return choices.error();
      options.choices = &*choices;
    }
    plan_ = compare::make_plan(target_, golden_, options);
    return {};
  }

  Result<void> write_rank(std::optional<int64_t> rank, const Rows& rows, Written& written) {
    auto file = ResultFile::create(
        output_,
        fmt::format("compare_result{}_{}", rank ? fmt::format("_rank{}", *rank) : "",
                    local_time_stamp()),
        header_of(style_), style_.as_xlsx);
    if (!file) return file.error();
    const std::span<const size_t> both(rows.both);
    for (size_t first = 0; first < both.size();) {
      size_t last = first + 1;
      while (last < both.size() && is_same_call(both[first], both[last])) ++last;
      write_api(both.subspan(first, last - first), *file, written);
      first = last;
    }
    for (size_t i : rows.golden_only) {
      const Line line = golden_line(plan_[i]);
      written.add(line, style_, *file);
    }
    return written.add(*file);
  }

  bool is_same_call(size_t a, size_t b) const {
    const Entry &x = *plan_[a].target, &y = *plan_[b].target;
    return x.operator_name == y.operator_name && x.timestamp == y.timestamp && x.step == y.step;
  }

  // Rows of one API are judged together.
  void write_api(std::span<const size_t> rows, ResultFile& file, Written& written) {
    std::vector<StatisticRow> api;
    api.reserve(rows.size());
    for (size_t i : rows) api.push_back(statistic_row(plan_[i]));
    const std::string_view name = plan_[rows.front()].target->operator_name;
    std::vector<Judged> judged;
    std::vector<Differences> differences;
    if (style_.mode == Mode::kStatistics) {
      differences.reserve(rows.size());
      for (const StatisticRow& row : api) differences.push_back(differences_of(row));
      judged = judge_statistics(api, differences, function_of(name));
    }
    if (style_.mode == Mode::kChecksum) judged = judge_checksums(api, function_of(name));
    for (size_t k = 0; k < rows.size(); ++k) {
      Line line = line_of(rows[k], api[k]);
      if (k == 0) line.stack = stack_of(*plan_[rows[k]].target);
      if (style_.mode == Mode::kRealData)
        add_real_data(rows[k], api[k], line);
      else
        line.judged = std::move(judged[k]);
      if (style_.mode == Mode::kStatistics) line.metrics = &differences[k];
      if (style_.mode == Mode::kChecksum) {
        const bool is_argument = api[k].is_argument;
        line.metrics = Checksums{checksum_of(*api[k].target, is_argument),
                                 api[k].is_matched ? checksum_of(*api[k].golden, is_argument) : ""};
      }
      written.add(line, style_, file);
    }
  }

  StatisticRow statistic_row(const PlannedRow& planned) const {
    StatisticRow row;
    row.is_output = planned.target->slot.kind == SlotKind::kOutput;
    row.is_argument = is_argument(*planned.target);
    const bool has_golden = planned.golden != nullptr && planned.reason.empty();
    row.is_matched = has_golden && (mapping_.says_what_is_compared() ||
                                    may_be_compared(*planned.target, *planned.golden));
    row.is_refused = has_golden && !row.is_matched;
    if (row.is_refused)
      row.why_unmatched = fmt::format("dtype differs: {} and {} are not compared",
                                      planned.target->dtype_text, planned.golden->dtype_text);
    else if (!row.is_matched)
      row.why_unmatched = planned.message;
    if (planned.target->statistics) row.target = &*planned.target->statistics;
    if (!row.is_argument) row.target_dtype = planned.target->dtype_text;
    row.target_shape = shape_of(*planned.target);
    if (!row.is_matched) return row;
    if (planned.golden->statistics) row.golden = &*planned.golden->statistics;
    if (!row.is_argument) row.golden_dtype = planned.golden->dtype_text;
    row.golden_shape = shape_of(*planned.golden);
    row.is_empty = row.target_shape != nullptr && element_count(*row.target_shape) == 0;
    return row;
  }

  // The line borrows its names until the next one is made.
  Line line_of(size_t i, const StatisticRow& row) {
    const PlannedRow& planned = plan_[i];
    Line line;
    line.api = name_row(*planned.target, target_row_);
    line.target_name = data_name(*planned.target, target_row_);
    if (row.is_matched) line.golden_name = data_name(*planned.golden, golden_row_);
    line.requires_grad_agrees =
        row.is_matched && row.target->requires_grad == row.golden->requires_grad;
    line.rank = planned.target->rank;
    line.token = planned.target->step;
    line.io = io_of(planned.target->slot.kind);
    line.rule = row.is_matched ? planned.rule : "";
    line.target_dtype = planned.target->dtype_text;
    line.target_shape = shape_of(*planned.target);
    line.target = side_numbers(*row.target);
    if (!row.is_matched) return line;
    line.golden_dtype = planned.golden->dtype_text;
    line.golden_shape = shape_of(*planned.golden);
    line.golden = side_numbers(*row.golden);
    return line;
  }

  static std::string_view io_of(SlotKind kind) {
    return kind == SlotKind::kInput       ? "input"
           : kind == SlotKind::kOutput    ? "output"
           : kind == SlotKind::kParameter ? "parameter"
                                          : "gradient";
  }

  Line golden_line(const PlannedRow& planned) {
    const Entry& golden = *planned.golden;
    Line line;
    line.api = name_row(golden, golden_row_);
    line.golden_name = data_name(golden, golden_row_);
    line.requires_grad_agrees = false;
    line.rank = golden.rank;
    line.token = golden.step;
    line.io = io_of(golden.slot.kind);
    line.golden_dtype = golden.dtype_text;
    line.golden_shape = shape_of(golden);
    if (golden.statistics) line.golden = side_numbers(*golden.statistics);
    line.judged.add(planned.message.empty() ? "no target data for this tensor" : planned.message);
    return line;
  }

  static std::string_view name_row(const Entry& entry, std::string& name) {
    name.clear();
    append_row_name(name, entry.operator_name, entry.slot);
    return name;
  }

  std::string_view data_name(const Entry& entry, std::string& name) const {
    if (style_.mode != Mode::kRealData) return name_row(entry, name);
    if (entry.parts.empty()) return "";
    const std::string_view file = entry.parts.front().file;
    return file.substr(file.rfind('/') + 1);
  }

  void add_real_data(size_t i, const StatisticRow& sides, Line& line) const {
    const result::Row& row = rows_[i];
    if (sides.is_refused) {
      line.judged = refused(sides);
    } else if (const auto& data = (*collector_)[i].real; data && !line.golden_name.empty()) {
      line.metrics = &*data;
      line.judged = judge(*data);
      line.first_bad = data->first_bad;
    } else if (row.verdict == result::Verdict::kFail && !(*collector_)[i].recorded) {
      line.judged.result = "FAIL";
      line.judged.accuracy = "No";
      line.judged.level = "error";
      line.judged.add(row.message);
    } else if ((*collector_)[i].recorded) {
      line.judged.add("no data file");
    } else {
      line.judged.add(row.message.empty() ? "no golden data matched" : row.message);
    }
  }

  // Of the stack.json beside the dump.json.
  std::string_view stack_of(const Entry& entry) {
    const auto at = stacks_.find(entry.record);
    const dump::Stacks& stacks =
        at != stacks_.end() ? at->second : stacks_.emplace(entry.record, load(entry)).first->second;
    const auto found = stacks.find(entry.operator_name);
    return found == stacks.end() ? std::string_view() : *found->second;
  }
  dump::Stacks load(const Entry& entry) const {
    const auto path = (target_.root / entry.record).parent_path() / "stack.json";
    auto file = MappedFile::open(path);
    if (!file) return {};
    auto stacks = dump::parse_stack_json(file->bytes());
    return stacks ? std::move(*stacks) : dump::Stacks();
  }

  const DumpSet& target_;
  const DumpSet& golden_;
  const Mapping& mapping_;
  const std::filesystem::path output_;
  const FileStyle style_;
  std::vector<PlannedRow> plan_;
  std::vector<result::Row> rows_;  // parallel to the plan
  const Collector* collector_ = nullptr;
  std::string target_row_, golden_row_;         // names in the line being written
  std::map<std::string, dump::Stacks> stacks_;  // by dump.json
};

}  // namespace

Result<Written> compare_general(const GeneralRun& run, const RunContext& context) {
  std::optional<DumpSet> sides[2];
  std::optional<Mode> modes[2];
  for (size_t i : {size_t{0}, size_t{1}}) {
    const std::string& path = i == 0 ? run.target : run.golden;
    auto opened = dump::open_dump(path);
    if (!opened) return opened.error();
    if (opened->convention != "msprobe")
      return Error{"there is no dump.json", path + ": it reads as " + opened->convention,
                   opened->convention.starts_with("torchair")
                       ? "add -m torchair"
                       : "name the dump.json of a dump, or use `plumb compare`"};
    modes[i] = mode_of(*opened);
    const auto damaged = std::find_if(opened->skipped.begin(), opened->skipped.end(),
                                      [](const dump::Skipped& file) { return file.error; });
    if (!modes[i] && damaged != opened->skipped.end()) return std::move(*damaged->error).in(path);
    if (!modes[i])
      return Error{"the dump has neither tensors nor statistics", path,
                   "dump again with task statistics or tensor"};
    sides[i] = std::move(*opened);
  }
  if (*modes[0] != *modes[1])
    return Error{
        "the two dumps hold different things",
        fmt::format("target has {}, golden has {}", words_of(*modes[0]), words_of(*modes[1])),
        "dump both sides with the same task, or use `plumb compare`"};
  if (auto made = make_directory(run.output); !made) return made.error();
  auto written = Comparison(run, *sides[0], *sides[1], *modes[0]).write(context);
  if (written)
    for (const auto& side : sides)
      written->warnings.insert(written->warnings.end(), side->warnings.begin(),
                               side->warnings.end());
  return written;
}

}  // namespace plumb::msprobe
