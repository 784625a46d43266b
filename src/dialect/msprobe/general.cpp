// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/general.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "dialect/msprobe/collector.h"
#include "dialect/msprobe/compared_rows.h"
#include "dialect/msprobe/difference_files.h"
#include "dialect/msprobe/highlight.h"
#include "dialect/msprobe/row_name.h"

namespace plumb::msprobe {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::SlotKind;
using pair::PlannedRow;

Mode mode_of(const DumpSet& set) {
  bool any_checksum = false;
  for (const Entry& entry : set.entries) {
    if (!entry.parts.empty()) return Mode::kRealData;
    any_checksum |= entry.statistics && !entry.statistics->checksum.empty();
  }
  return any_checksum ? Mode::kChecksum : Mode::kStatistics;
}

const char* words_of(Mode mode) {
  return mode == Mode::kRealData ? "tensors" : mode == Mode::kChecksum ? "checksums" : "statistics";
}

// Dumps of calls, paired by their names and the mapping files.
class CallPolicy final : public Collector {
 public:
  explicit CallPolicy(const Mapping& mapping) : mapping_(mapping) {}

  Result<DumpSet> open(const SideSpec& side, const Spec&, const io::ReadHints&) const override {
    auto set = dump::open_dump(side.path);
    if (!set) return set;
    if (!set->traits.has_numbered_calls)
      return Error{"there is no dump.json", side.path + ": it reads as " + set->convention,
                   set->traits.is_torchair_ge || set->traits.is_torchair_fx
                       ? "add -m torchair"
                       : "name the dump.json of a dump, or use `plumb compare`"};
    const auto has_any = [](const Entry& e) { return !e.parts.empty() || e.statistics; };
    if (std::any_of(set->entries.begin(), set->entries.end(), has_any)) return set;
    for (dump::Skipped& file : set->skipped)
      if (file.error) return std::move(*file.error).in(side.path);
    return Error{"the dump has neither tensors nor statistics", side.path,
                 "dump again with task statistics or tensor"};
  }

  Result<std::vector<PlannedRow>> plan(const DumpSet& target, const DumpSet& golden,
                                       RunContext&) override {
    const Mode theirs = mode_of(golden);
    mode = mode_of(target);
    if (mode != theirs)
      return Error{"the two dumps hold different things",
                   fmt::format("target has {}, golden has {}", words_of(mode), words_of(theirs)),
                   "dump both sides with the same task, or use `plumb compare`"};
    pair::PlanOptions options;
    Result<pair::Pairings> told = pair::Pairings();
    if (mapping_.any()) {
      told = choose_partners(mapping_, target, golden, warnings);
      if (!told) return told.error();
      options.told = &*told;
    }
    auto rows = pair::make_plan(target, golden, options);
    begin(rows);
    return rows;
  }

  Mode mode = Mode::kRealData;
  std::vector<std::string> warnings;

 private:
  const Mapping& mapping_;
};

// From a session to result files.
class Comparison {
 public:
  Comparison(const GeneralRun& run, const CallPolicy& policy, const SessionState& state,
             std::vector<result::Row> rows)
      : plan_(state.rows),
        rows_(std::move(rows)),
        collector_(policy),
        mapping_(run.mapping),
        output_(run.output),
        style_{policy.mode, run.documented_only, run.as_xlsx},
        finds_first_(run.finds_first),
        legacy_colours_(run.legacy_colours),
        most_magnitude_(run.most_magnitude),
        stacks_(state.target) {}

  Result<Written> write() {
    Written written;
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
    std::vector<RankRows> ranks;
    for (auto& [rank, rows] : by_rank) {
      const auto is_before = [&](size_t a, size_t b) {
        return row_is_before(*plan_[a].target, *plan_[b].target);
      };
      if (!std::is_sorted(rows.both.begin(), rows.both.end(), is_before))
        std::sort(rows.both.begin(), rows.both.end(), is_before);
      if (finds_first_)
        ranks.push_back({rank, std::move(rows.both)});
      else if (auto done = write_rank(rank, rows, written); !done)
        return done.error();
    }
    if (finds_first_) {
      const bool any_type = mapping_.says_what_is_compared();
      auto found = write_first_differences({plan_, ranks, style_.mode, any_type, output_}, stacks_);
      if (!found) return found.error();
      written.first = std::move(*found);
    }
    return written;
  }

 private:
  // Of one file, by position in the plan.
  struct Rows {
    std::vector<size_t> both;  // or target only
    std::vector<size_t> golden_only;
  };

  Result<void> write_rank(std::optional<int64_t> rank, const Rows& rows, Written& written) {
    auto file =
        ResultFile::create(output_, name_of_result("compare_result", rank, local_time_stamp()),
                           header_of(style_), style_.as_xlsx);
    if (!file) return file.error();
    for_each_call(plan_, rows.both,
                  [&](std::span<const size_t> call) { write_api(call, *file, written); });
    for (size_t i : rows.golden_only) {
      const Line line = golden_line(plan_[i]);
      written.add(line, style_, *file);
    }
    return written.add(*file);
  }

  // Rows of one API are judged together.
  void write_api(std::span<const size_t> rows, ResultFile& file, Written& written) {
    std::vector<StatisticRow> api;
    api.reserve(rows.size());
    for (size_t i : rows) api.push_back(statistic_row(plan_[i], mapping_.says_what_is_compared()));
    const std::string_view name = plan_[rows.front()].target->operator_name;
    std::vector<Judged> judged;
    std::vector<Differences> differences;
    if (style_.mode == Mode::kStatistics) {
      differences.reserve(rows.size());
      for (const StatisticRow& row : api) differences.push_back(differences_of(row));
      judged = judge_statistics(api, differences, function_of(name));
      if (most_magnitude_)
        for (size_t k = 0; k < api.size(); ++k)
          judge_magnitude(api[k], *most_magnitude_, judged[k]);
    }
    if (style_.mode == Mode::kChecksum) judged = judge_checksums(api, function_of(name));
    std::vector<report::Fill> fills;
    if (legacy_colours_) fills = fills_of(rows, api, differences);
    for (size_t k = 0; k < rows.size(); ++k) {
      Line line = line_of(rows[k], api[k]);
      if (legacy_colours_) line.fill = fills[k];
      if (k == 0) line.stack = stacks_.of(*plan_[rows[k]].target);
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

  std::vector<report::Fill> fills_of(std::span<const size_t> rows,
                                     std::span<const StatisticRow> api,
                                     std::span<const Differences> differences) const {
    std::vector<HighlightRow> seen(rows.size());
    for (size_t k = 0; k < rows.size(); ++k) {
      const Statistics &t = *api[k].target, &g = *api[k].golden;
      seen[k].is_output = api[k].is_output;
      seen[k].is_input = plan_[rows[k]].target->slot.kind == SlotKind::kInput;
      seen[k].is_finite = !is_bad(t.max) && !is_bad(t.min);
      seen[k].requires_grad_agrees =
          !t.requires_grad || !g.requires_grad || *t.requires_grad == *g.requires_grad;
      if (!differences.empty()) {
        seen[k].max_diff = differences[k][0].difference;
        seen[k].max_relative = differences[k][0].relative;
      } else if (style_.mode == Mode::kRealData && collector_[rows[k]].real) {
        const RealData& real = *collector_[rows[k]].real;
        seen[k].max_diff = real.max_abs;
        seen[k].cosine = real.cosine;
        seen[k].below_1e3 = real.below_1e3;
      }
    }
    return legacy_fills(seen);
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
    line.target_dtype = planned.target->dtype_text();
    line.target_shape = shape_of(*planned.target);
    line.target = side_numbers(*row.target);
    if (!row.is_matched) return line;
    line.golden_dtype = planned.golden->dtype_text();
    line.golden_shape = shape_of(*planned.golden);
    line.golden = side_numbers(*row.golden);
    return line;
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
    line.golden_dtype = golden.dtype_text();
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
    } else if (const auto& data = collector_[i].real; data && !line.golden_name.empty()) {
      line.metrics = &*data;
      line.judged = judge(*data);
      line.first_bad = data->first_bad;
    } else if (row.verdict == result::Verdict::kFail && !collector_[i].recorded) {
      line.judged = {.result = "FAIL", .accuracy = "No", .level = "error", .message = row.message};
    } else if (collector_[i].recorded) {
      line.judged.add("no data file");
    } else {
      line.judged.add(row.message.empty() ? "no golden data matched" : row.message);
    }
  }

  const std::vector<PlannedRow>& plan_;
  const std::vector<result::Row> rows_;  // parallel to the plan, of real data
  const Collector& collector_;
  const Mapping& mapping_;
  const std::filesystem::path output_;
  const FileStyle style_;
  const bool finds_first_, legacy_colours_;
  const std::optional<double> most_magnitude_;
  std::string target_row_, golden_row_;  // names in the line being written
  StackFiles stacks_;
};

}  // namespace

Result<Written> compare_general(const GeneralRun& run, RunContext& context) {
  CallPolicy policy(run.mapping);
  auto session = open_comparison(run, policy, context);
  if (!session) return session.error();
  const SessionState& state = session->state();
  std::vector<result::Row> rows;
  // What was recorded is judged by msprobe's own rules.
  if (policy.mode == Mode::kRealData && !run.finds_first) rows = stream_all(*session, context);
  auto written = Comparison(run, policy, state, std::move(rows)).write();
  if (!written) return written;
  written->interrupted = context.cancelled;
  std::vector<std::string>& told = written->warnings;
  told.insert(told.begin(), policy.warnings.begin(), policy.warnings.end());
  for (const DumpSet* side : {&state.target, &state.golden})
    told.insert(told.end(), side->warnings.begin(), side->warnings.end());
  return written;
}

}  // namespace plumb::msprobe
