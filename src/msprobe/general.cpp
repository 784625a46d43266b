// SPDX-License-Identifier: Apache-2.0
#include "msprobe/general.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "compare/stream.h"
#include "dump/names.h"
#include "dump/stack_json.h"
#include "msprobe/collector.h"

namespace plumb::msprobe {
namespace {

using compare::PlannedRow;
using dump::DumpSet;
using dump::Entry;
using dump::SlotKind;

// "Functional.relu.0.forward.input.0"
std::string row_name(const Entry& entry) {
  std::string name = entry.operator_name;
  switch (entry.slot.kind) {
    case SlotKind::kInput: name += ".input"; break;
    case SlotKind::kOutput: name += ".output"; break;
    case SlotKind::kParameter: name += ".parameters"; break;
    case SlotKind::kParameterGradient:
    case SlotKind::kOther: break;
  }
  if (entry.slot.index >= 0) name += fmt::format(".{}", entry.slot.index);
  if (!entry.slot.path.empty()) name += "." + entry.slot.path;
  return name;
}

// The second word of an API's name: what it does.
std::string_view function_of(std::string_view api) {
  const size_t dot = api.find('.');
  if (dot == std::string_view::npos) return {};
  api.remove_prefix(dot + 1);
  return api.substr(0, api.find('.'));
}

// Inputs, parameters, outputs, gradients; what has a number before what has a name.
int order_of(SlotKind kind) {
  switch (kind) {
    case SlotKind::kInput: return 0;
    case SlotKind::kParameter: return 1;
    case SlotKind::kOutput: return 2;
    case SlotKind::kParameterGradient: return 3;
    case SlotKind::kOther: return 4;
  }
  return 4;
}

bool is_argument(const Entry& entry) { return !entry.recorded_shape && entry.parts.empty(); }

// Tensors of these types are compared with each other.
bool is_common_float(std::string_view dtype) {
  for (std::string_view name : {"float16", "float32", "bfloat16", "Float16", "Float32", "BFloat16"})
    if (dtype.ends_with(name)) return true;
  return false;
}
bool may_be_compared(const Entry& target, const Entry& golden) {
  return target.dtype_text == golden.dtype_text || is_argument(target) || is_argument(golden) ||
         (is_common_float(target.dtype_text) && is_common_float(golden.dtype_text));
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
        output_(run.output),
        style_{mode, run.documented_only, run.as_xlsx} {}

  Result<Written> write(const RunContext& context) {
    plan_ = compare::make_plan(target_, golden_);
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
    rows_ = compare::stream(sides, plan_, options, context).rows;

    Written written;
    written.interrupted = context.cancelled;
    std::map<std::optional<int64_t>, std::vector<size_t>> by_rank;
    size_t golden_only = 0;
    for (size_t i = 0; i < plan_.size(); ++i) {
      if (plan_[i].target != nullptr)
        by_rank[plan_[i].target->rank].push_back(i);
      else
        golden_only += plan_[i].golden != nullptr;
    }
    if (golden_only > 0)
      written.warnings.push_back(
          fmt::format("{} tensors and arguments of golden are not in target", golden_only));
    for (auto& [rank, rows] : by_rank) {
      std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return is_before(a, b); });
      if (auto done = write_rank(rank, rows, written); !done) return done.error();
    }
    return written;
  }

 private:
  bool is_before(size_t a, size_t b) const {
    const auto key = [&](const Entry& e) {
      return std::tuple(e.step, e.timestamp, std::string_view(e.operator_name),
                        order_of(e.slot.kind), e.slot.index < 0, e.slot.index);
    };
    const Entry &x = *plan_[a].target, &y = *plan_[b].target;
    if (key(x) != key(y)) return key(x) < key(y);
    return dump::natural_less(x.slot.path, y.slot.path);
  }

  Result<void> write_rank(std::optional<int64_t> rank, const std::vector<size_t>& rows,
                          Written& written) {
    auto file = ResultFile::create(
        output_,
        fmt::format("compare_result{}_{}", rank ? fmt::format("_rank{}", *rank) : "",
                    local_time_stamp()),
        header_of(style_), style_.as_xlsx);
    if (!file) return file.error();
    for (size_t first = 0; first < rows.size();) {
      size_t last = first + 1;
      while (last < rows.size() && is_same_call(rows[first], rows[last])) ++last;
      write_api(std::span(rows).subspan(first, last - first), *file, written);
      first = last;
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
    for (size_t i : rows) api.push_back(statistic_row(plan_[i]));
    const std::string_view name = plan_[rows.front()].target->operator_name;
    std::vector<Judged> judged;
    if (style_.mode == Mode::kStatistics) judged = judge_statistics(api, function_of(name));
    if (style_.mode == Mode::kChecksum) judged = judge_checksums(api, function_of(name));
    for (size_t k = 0; k < rows.size(); ++k) {
      Line line = line_of(rows[k], api[k]);
      if (k == 0) line.stack = stack_of(*plan_[rows[k]].target);
      if (style_.mode == Mode::kRealData)
        add_real_data(rows[k], line);
      else
        line.judged = std::move(judged[k]);
      if (style_.mode == Mode::kStatistics) line.metrics = metric_cells(differences_of(api[k]));
      if (style_.mode == Mode::kChecksum) {
        const auto text = [&](const dump::RecordedStatistics& side, bool is_there) {
          const std::string sum = is_there ? checksum_of(side, api[k].is_argument) : "";
          return sum.empty() ? std::string("N/A") : sum;
        };
        line.metrics = {text(api[k].target, true), text(api[k].golden, api[k].is_matched)};
      }
      written.add(line, style_, file);
    }
  }

  StatisticRow statistic_row(const PlannedRow& planned) const {
    StatisticRow row;
    row.is_output = planned.target->slot.kind == SlotKind::kOutput;
    row.is_argument = is_argument(*planned.target);
    row.is_matched = planned.golden != nullptr && planned.reason.empty() &&
                     may_be_compared(*planned.target, *planned.golden);
    if (planned.target->statistics) row.target = *planned.target->statistics;
    if (!row.is_argument) row.target_dtype = planned.target->dtype_text;
    row.target_shape = planned.target->recorded_shape;
    if (!row.is_matched) return row;
    if (planned.golden->statistics) row.golden = *planned.golden->statistics;
    if (!row.is_argument) row.golden_dtype = planned.golden->dtype_text;
    row.golden_shape = planned.golden->recorded_shape;
    return row;
  }

  Line line_of(size_t i, const StatisticRow& row) const {
    const PlannedRow& planned = plan_[i];
    Line line;
    line.api = row_name(*planned.target);
    line.target_name = data_name(planned.target);
    if (row.is_matched) line.golden_name = data_name(planned.golden);
    line.requires_grad_agrees =
        row.is_matched && row.target.requires_grad == row.golden.requires_grad;
    line.rank = planned.target->rank;
    line.token = planned.target->step;
    const SlotKind kind = planned.target->slot.kind;
    line.io = kind == SlotKind::kInput       ? "input"
              : kind == SlotKind::kOutput    ? "output"
              : kind == SlotKind::kParameter ? "parameter"
                                             : "gradient";
    line.rule = row.is_matched ? planned.rule : "";
    line.target_dtype = planned.target->dtype_text;
    line.target_shape = planned.target->recorded_shape;
    line.target = side_numbers(row.target);
    if (!row.is_matched) return line;
    line.golden_dtype = planned.golden->dtype_text;
    line.golden_shape = planned.golden->recorded_shape;
    line.golden = side_numbers(row.golden);
    return line;
  }

  std::string data_name(const Entry* entry) const {
    if (style_.mode != Mode::kRealData) return row_name(*entry);
    if (entry->parts.empty()) return "";
    const std::string& file = entry->parts.front().file;
    return file.substr(file.rfind('/') + 1);
  }

  void add_real_data(size_t i, Line& line) const {
    const result::Row& row = rows_[i];
    if (const auto& data = (*collector_)[i].real; data && !line.golden_name.empty()) {
      line.metrics = metric_cells(*data);
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
  std::string stack_of(const Entry& entry) {
    const auto at = stacks_.find(entry.record);
    const dump::Stacks& stacks =
        at != stacks_.end() ? at->second : stacks_.emplace(entry.record, load(entry)).first->second;
    const auto found = stacks.find(entry.operator_name);
    return found == stacks.end() ? std::string() : *found->second;
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
  const std::filesystem::path output_;
  const FileStyle style_;
  std::vector<PlannedRow> plan_;
  std::vector<result::Row> rows_;  // parallel to the plan
  const Collector* collector_ = nullptr;
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
