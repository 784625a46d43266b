// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/general.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "dialect/msprobe/collector.h"
#include "dialect/msprobe/compared_rows.h"
#include "dialect/msprobe/difference_files.h"
#include "dialect/msprobe/general_table.h"
#include "dialect/msprobe/highlight.h"
#include "dialect/msprobe/row_name.h"
#include "dump/levels.h"
#include "dump/selection.h"
#include "dump/tree.h"

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

// Somebody copied the index and not the tensors.
std::optional<Error> all_data_lost(const DumpSet& set) {
  const Entry* lost = nullptr;
  for (const Entry& entry : set.entries) {
    if (entry.parts.empty()) continue;
    std::error_code unknown;
    if (std::filesystem::exists(set.absolute(entry.parts.front().file), unknown)) return {};
    if (lost == nullptr) lost = &entry;
  }
  if (lost == nullptr) return {};
  const std::filesystem::path first = set.absolute(lost->parts.front().file);
  return Error{"the data files of the dump are missing",
               fmt::format("{}: none of the files that {} names is there",
                           first.parent_path().string(), set.absolute(lost->record.str())),
               "copy that directory, too"};
}

// "golden/step0" of the first entry of that step; empty if no directory is called so.
std::string directory_of_step(const DumpSet& set, int64_t step) {
  for (const Entry& entry : set.entries) {
    if (entry.step() != step) continue;
    std::filesystem::path directory = set.root;
    for (const std::string_view part : dump::components(entry.record)) {
      directory /= part;
      if (dump::step_from(part) == step) return directory.string();
    }
  }
  return {};
}

// Of several steps on one side, and none on the other, nobody can tell which is meant: the one of
// the same name, if the other side was named by it.
std::optional<Error> which_step(const DumpSet& own, std::string_view side, std::string_view option,
                                const DumpSet& other, std::string_view other_side) {
  const auto [steps, unused, all_have_steps, any] = dump::steps_and_ranks(own);
  if (steps.size() < 2 || !all_have_steps || !dump::steps_and_ranks(other).steps.empty()) return {};
  int64_t wanted = *steps.begin();
  for (const auto& part : std::filesystem::absolute(other.root).lexically_normal())
    if (const auto step = dump::step_from(part.string()); step && steps.contains(*step))
      wanted = *step;
  const std::string directory = directory_of_step(own, wanted);
  return Error{fmt::format("{} has several steps, {} has none", side, other_side),
               fmt::format("{} has steps {}", own.root.string(), dump::list_of(steps)),
               directory.empty() ? fmt::format("name the directory of one step with {}", option)
                                 : fmt::format("name one step: {} {}", option, directory)};
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
    if (std::any_of(set->entries.begin(), set->entries.end(), has_any)) {
      if (auto lost = all_data_lost(*set)) return std::move(*lost);
      return set;
    }
    for (dump::Skipped& file : set->skipped)
      if (file.error) return std::move(*file.error).in(side.path);
    return Error{"the dump has neither tensors nor statistics", side.path,
                 "dump again with task statistics or tensor"};
  }

  Result<std::vector<PlannedRow>> plan(const DumpSet& target, const DumpSet& golden,
                                       RunContext&) override {
    if (auto unclear = which_step(golden, "golden", "-gp", target, "target")) return *unclear;
    if (auto unclear = which_step(target, "target", "-tp", golden, "golden")) return *unclear;
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
class GeneralComparison {
 public:
  GeneralComparison(const GeneralRun& run, const CallPolicy& policy, const SessionState& state,
                    std::vector<result::Row> rows, RunContext& context)
      : plan_(state.rows),
        target_(state.target),
        golden_(state.golden),
        rows_(std::move(rows)),
        collector_(policy),
        run_(run),
        mapping_(run.mapping),
        style_{policy.mode, false, run.as_original, !run.as_original && !run.documented_only,
               run.as_xlsx},
        stacks_(state.target),
        context_(context) {}

  Result<Written> write() {
    Written written;
    written.has_levels = true;
    const auto known = dump::steps_and_ranks(target_);
    written.has_several_steps = known.steps.size() > 1;
    written.has_several_ranks = known.ranks.size() > 1;
    std::map<Source, Rows> by_source;
    size_t golden_only = 0;
    for (size_t i = 0; i < plan_.size(); ++i)
      if (plan_[i].target != nullptr) by_source[source_of(*plan_[i].target)].both.push_back(i);
    for (size_t i = 0; i < plan_.size(); ++i) {
      // Nobody knows what a dump.json that cannot be read held, so that it has no line.
      if (plan_[i].target == nullptr && plan_[i].golden == nullptr) {
        written.warnings.push_back(plan_[i].message);
        ++written.not_compared;
      }
      if (plan_[i].target != nullptr || plan_[i].golden == nullptr) continue;
      // Of one rank each, whatever their numbers.
      Source source = source_of(*plan_[i].golden), other = source;
      if (by_source.size() == 1) other.rank = by_source.begin()->first.rank;
      by_source[by_source.contains(other) ? other : source].golden_only.push_back(i);
      ++golden_only;
    }
    if (golden_only > 0)
      written.warnings.push_back(
          golden_only == 1
              ? std::string("1 tensor or argument of golden is not in target")
              : fmt::format("{} tensors and arguments of golden are not in target", golden_only));
    std::vector<RankRows> ranks;
    for (auto& [source, rows] : by_source) {
      const auto is_before = [&](size_t a, size_t b) {
        return row_is_before(*plan_[a].target, *plan_[b].target);
      };
      if (!std::is_sorted(rows.both.begin(), rows.both.end(), is_before))
        std::sort(rows.both.begin(), rows.both.end(), is_before);
      if (run_.finds_first)
        ranks.push_back({source.rank, std::move(rows.both)});
      else if (auto done = write_source(source, rows, written); !done)
        return done.error();
    }
    if (run_.finds_first) {
      const bool any_type = mapping_.says_what_is_compared();
      auto found = write_first_differences(
          {target_, golden_, plan_, ranks, style_.mode, any_type, run_.output}, stacks_);
      if (!found) return found.error();
      written.first = std::move(*found);
    }
    return written;
  }

 private:
  // What a result file is about: dump.json or debug.json of a rank, of MindSpore's compiled calls
  // or of the others.
  struct Source {
    std::optional<int64_t> rank;
    bool is_saved = false;
    std::string_view execution;  // "graph", "pynative"
    auto operator<=>(const Source&) const = default;
  };
  Source source_of(const Entry& entry) const {
    Source source{entry.rank(), is_saved_by_hand(entry.operator_name), {}};
    if (run_.finds_first) return source;
    for (const std::string_view part : dump::components(entry.record))
      if (part == "graph" || part == "pynative") source.execution = part;
    return source;
  }

  // Of one file, by position in the plan.
  struct Rows {
    std::vector<size_t> both;  // or target only
    std::vector<size_t> golden_only;
  };

  // "_proc17", or "_rank", as the directory of a device is called that has no number among others.
  std::string device_of(const Rows& rows) const {
    std::string_view device, last;
    for (size_t i : rows.both) {
      const std::string_view record = plan_[i].target->record;
      if (record == std::exchange(last, record)) continue;
      for (const std::string_view part : dump::components(record)) {
        if (part != "rank" && !dump::is_process(part)) continue;
        if (!device.empty() && part != device) return {};
        device = part;
      }
    }
    return device.empty() ? "" : fmt::format("_{}", device);
  }

  Result<void> write_source(const Source& source, const Rows& rows, Written& written) {
    style_.has_stacks = !rows.both.empty() && stacks_.has(*plan_[rows.both.front()].target);
    std::string name = source.is_saved ? "debug_compare_result" : "compare_result";
    if (!source.rank) name += device_of(rows);
    const std::filesystem::path directory = run_.output / source.execution;
    if (auto made = make_directory(directory); !made) return made;
    auto file = ResultFile::create(directory, name_of_result(name, source.rank, local_time_stamp()),
                                   header_of(style_), style_.as_xlsx);
    if (!file) return file.error();
    for_each_call(plan_, rows.both,
                  [&](std::span<const size_t> call) { write_api(call, *file, written); });
    if (!style_.is_original)
      for (size_t i : rows.golden_only) add(golden_line(plan_[i]), *file, written);
    return written.add(*file);
  }

  void add(const GeneralLine& line, ResultFile& file, Written& written) {
    const Judged& judged = line.judged;
    const report::Fill fill = fill_of(judged);
    cells_.clear();
    append_cells(cells_, line, style_);
    file.add(cells_, line.fill.value_or(fill));
    ++(judged.level == "pass"    ? written.pass
       : judged.level == "error" ? written.fail
                                 : written.warned);
    if (judged.result == "N/A") ++written.not_compared;
    if (fill == report::Fill::kGreen) return;
    const Entry& any = line.any();
    Notable row{std::string(line.target != nullptr ? line.target_name : line.golden_name),
                io_of(any.slot.kind),
                any.rank(),
                any.step(),
                {},
                {},
                judged,
                0,
                0};
    if (const auto* real = std::get_if<const RealData*>(&line.metrics)) {
      row.cosine = (*real)->cosine;
      row.max_rel = (*real)->max_rel;
    }
    written.note(std::move(row), fill);
  }

  // Rows of one API are judged together.
  void write_api(std::span<const size_t> rows, ResultFile& file, Written& written) {
    std::vector<StatisticRow> api;
    api.reserve(rows.size());
    for (size_t i : rows) api.push_back(statistic_row(plan_[i], mapping_.says_what_is_compared()));
    const std::string_view name = plan_[rows.front()].target->operator_name;
    const bool is_saved = is_saved_by_hand(name);
    const JudgedCall call{api, is_saved ? "" : function_of(name), style_.is_original, is_saved};
    std::vector<Judged> judged;
    std::vector<Differences> differences;
    std::vector<OriginalNumbers> originals;
    if (style_.mode == Mode::kStatistics) {
      differences.reserve(rows.size());
      for (const StatisticRow& row : api) differences.push_back(differences_of(row));
      judged = judge_statistics(call, differences);
      if (run_.most_magnitude)
        for (size_t k = 0; k < api.size(); ++k)
          judge_magnitude(api[k], *run_.most_magnitude, judged[k]);
    } else if (style_.mode == Mode::kChecksum) {
      judged = judge_checksums(call);
    } else {
      judged = judge_data(rows, call, originals, written);
    }
    std::vector<report::Fill> fills;
    if (run_.legacy_colours) fills = fills_of(rows, api, differences);
    for (size_t k = 0; k < rows.size(); ++k) {
      GeneralLine line = line_of(rows[k], api[k]);
      line.judged = std::move(judged[k]);
      if (run_.legacy_colours) line.fill = fills[k];
      if (k == 0) line.stack = stacks_.of(*plan_[rows[k]].target);
      if (style_.mode == Mode::kStatistics) line.metrics = &differences[k];
      if (style_.mode == Mode::kChecksum) line.metrics = checksums_of(api[k]);
      if (!originals.empty())
        line.metrics = &originals[k];
      else if (style_.mode == Mode::kRealData)
        add_real_data(rows[k], line);
      add(line, file, written);
    }
  }

  // Tensors by the documented rules; in `originals` goes what the tool itself calculates.
  std::vector<Judged> judge_data(std::span<const size_t> rows, const JudgedCall& call,
                                 std::vector<OriginalNumbers>& originals, Written& written) const {
    std::vector<TensorNumbers> numbers(rows.size());
    for (size_t k = 0; k < rows.size(); ++k) {
      const Collected& collected = collector_[rows[k]];
      const result::Row& row = rows_[rows[k]];
      if (collected.real) {
        // Of a single element there is no share.
        const RealData& data = *collected.real;
        numbers[k].data = &data;
        numbers[k].cosine = data.cosine;
        if (!data.is_single) numbers[k].below_1e3 = data.below_1e3;
      } else {
        numbers[k].trouble = "no data file";
        if (!row.message.empty()) numbers[k].trouble = row.message;
        numbers[k].is_failure = row.verdict == result::Verdict::kFail && !collected.recorded;
      }
      if (!style_.is_original) continue;
      const auto calculated =
          call.rows[k].is_matched ? original_of(plan_[rows[k]], written) : std::nullopt;
      originals.push_back(calculated.value_or(all_of("unsupported")));
      numbers[k].cosine = originals[k][0].number();
      numbers[k].below_1e3 = originals[k][4].number();
    }
    return judge_tensors(call, numbers);
  }

  std::optional<OriginalNumbers> original_of(const PlannedRow& row, Written& written) const {
    if (row.target->parts.empty() || row.golden->parts.empty()) return {};
    auto target = dump::EntryReader::open(target_, *row.target);
    auto golden = target ? dump::EntryReader::open(golden_, *row.golden)
                         : Result<dump::EntryReader>(target.error());
    auto numbers = golden ? original_numbers(*target, *golden, context_)
                          : Result<std::optional<OriginalNumbers>>(golden.error());
    if (numbers) return *numbers;
    written.warnings.push_back(numbers.error().what + ": " + numbers.error().where);
    return {};
  }

  static Checksums checksums_of(const StatisticRow& row) {
    const auto of = [&](const Statistics& side) {  // there is nothing to count in what is missing
      return row.is_argument && side.dtype == "NoneType" ? "" : checksum_of(side, row.is_argument);
    };
    return {of(*row.target), row.is_matched ? of(*row.golden) : ""};
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
  GeneralLine line_of(size_t i, const StatisticRow& row) {
    const PlannedRow& planned = plan_[i];
    GeneralLine line;
    line.target = planned.target;
    line.target_name = name_row(target_, *planned.target, target_row_);
    // A partner of a type that is not compared is shown; the tool knows none.
    if (!row.is_matched && (!row.is_refused || style_.is_original)) return line;
    line.golden = planned.golden;
    line.golden_name = name_row(golden_, *planned.golden, golden_row_);
    line.rule = planned.rule;
    return line;
  }

  GeneralLine golden_line(const PlannedRow& planned) {
    GeneralLine line;
    line.golden = planned.golden;
    line.golden_name = name_row(golden_, *planned.golden, golden_row_);
    line.judged.warn(planned.message.empty() ? "no target data for this tensor" : planned.message);
    return line;
  }

  static std::string_view name_row(const DumpSet& set, const Entry& entry, std::string& name) {
    name.clear();
    append_row_name(name, set, entry);
    return name;
  }

  void add_real_data(size_t i, GeneralLine& line) const {
    const auto& data = collector_[i].real;
    if (!data || line.golden == nullptr) return;
    line.metrics = &*data;
    line.first_bad = data->first_bad;
  }

  const std::vector<PlannedRow>& plan_;
  const DumpSet &target_, &golden_;
  const std::vector<result::Row> rows_;  // parallel to the plan, of real data
  const Collector& collector_;
  const GeneralRun& run_;
  const Mapping& mapping_;
  GeneralStyle style_;
  std::string target_row_, golden_row_;  // names in the line being written
  Cells cells_;                          // of it
  StackFiles stacks_;
  RunContext& context_;
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
  auto written = GeneralComparison(run, policy, state, std::move(rows), context).write();
  if (!written) return written;
  written->interrupted = context.cancelled;
  std::vector<std::string>& told = written->warnings;
  told.insert(told.begin(), policy.warnings.begin(), policy.warnings.end());
  const std::vector<std::string> general = warnings_about(run, state);
  told.insert(told.begin(), general.begin(), general.end());
  return written;
}

}  // namespace plumb::msprobe
