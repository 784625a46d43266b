// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/torchair.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "dialect/msprobe/collector.h"
#include "dialect/msprobe/original.h"
#include "dump/levels.h"
#include "dump/names.h"
#include "dump/tree.h"
#include "pair/torchair.h"

namespace plumb::msprobe {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::SlotKind;
using pair::PlannedRow;

bool holds(const std::vector<int64_t>& wanted, std::optional<int64_t> number) {
  return wanted.empty() ||
         (number && std::find(wanted.begin(), wanted.end(), *number) != wanted.end());
}

// A tensor by its file, and by its slot where the file holds several.
std::string name_of(const DumpSet& set, const Entry* entry) {
  if (entry == nullptr) return "";
  const std::string file = entry->file();
  return set.traits.is_torchair_fx ? file : file + ":" + to_string(entry->slot);
}

const Shape* shape_of_side(const result::Side& side) { return side.shape ? &*side.shape : nullptr; }

// Pairs as TorchAir's graphs tell them, of the ranks, graphs and tokens that are wanted.
class TorchairPolicy final : public Collector {
 public:
  explicit TorchairPolicy(const TorchairRun& run) : run_(run) {}

  Result<std::vector<PlannedRow>> plan(const DumpSet& target, const DumpSet& golden,
                                       RunContext&) override {
    pair::TorchairOptions options;
    options.ranks = run_.ranks;
    options.fx_token_base = run_.fx_token_base;
    auto told = pair::pair_torchair(target, golden, options);
    if (!told) return told.error();
    pairs = std::move(*told);
    pair::PlanOptions plan_options;
    plan_options.told = &pairs.pairings;
    plan_options.told_all = true;
    plan_options.wants = [&](const Entry& entry) { return is_wanted(target, entry); };
    auto rows = pair::make_plan(target, golden, plan_options);
    begin(rows);
    return rows;
  }

  const pair::Torchair::Place& place_of(const DumpSet& target, const Entry& entry) const {
    return pairs.places[static_cast<size_t>(&entry - target.entries.data())];
  }
  // Golden tensors go with those they belong to.
  bool is_wanted(const DumpSet& target, const Entry& entry) const {
    const Entry* const first = target.entries.data();
    const std::less<> less;
    if (less(&entry, first) || !less(&entry, first + target.entries.size())) return true;
    const pair::Torchair::Place& place = place_of(target, entry);
    return place.is_common && holds(run_.graphs, place.graph) && holds(run_.tokens, place.token);
  }

  pair::Torchair pairs;

 private:
  const TorchairRun& run_;
};

// From a session to result files.
class TorchairComparison {
 public:
  TorchairComparison(const TorchairRun& run, const TorchairPolicy& policy,
                     const SessionState& state)
      : run_(run),
        policy_(policy),
        target_(state.target),
        golden_(state.golden),
        plan_(state.rows),
        collector_(policy) {}

  Result<void> write_documented(std::vector<result::Row> compared, Written& written) {
    rows_ = std::move(compared);
    return for_each_rank([&](std::optional<int64_t> rank, const std::vector<size_t>& rows) {
      return write_rank(rank, rows, written);
    });
  }

  // Pairs only, and only those that the original compares: of the same size, not int8 against
  // another type.
  Result<void> write_original(const RunContext& context, Written& written) const {
    return for_each_rank([&](std::optional<int64_t> rank,
                             const std::vector<size_t>& rows) -> Result<void> {
      auto file = ResultFile::create(run_.output,
                                     name_of_result("msprobe_cmp_report", rank, utc_time_stamp()),
                                     original_header(), run_.as_xlsx);
      if (!file) return file.error();
      int64_t id = 0;
      for (size_t i : rows) {
        if (!plan_[i].reason.empty() || context.cancelled) {
          ++written.not_compared;
          continue;
        }
        auto line = original_line(plan_[i], context);
        if (!line) written.warnings.push_back(line.error().what + ": " + line.error().where);
        if (!line || !*line) {
          ++written.not_compared;
          continue;
        }
        (*line)->id = id++;
        file->add(original_cells(**line));
        ++written.compared;
      }
      return written.add(*file);
    });
  }

 private:
  template <class Write>
  Result<void> for_each_rank(Write&& write_one) const {
    std::map<std::optional<int64_t>, std::vector<size_t>> by_rank;
    for (size_t i = 0; i < plan_.size(); ++i)
      if (is_shown(plan_[i])) by_rank[rank_of(plan_[i])].push_back(i);
    if (by_rank.empty())
      return Error{"nothing of the target is to be compared", run_.target,
                   "--rank, --graph and --token leave nothing, or the two sides share no token"};
    for (auto& [rank, rows] : by_rank) {
      std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
      if (auto done = write_one(rank, rows); !done) return done;
    }
    return {};
  }

  Result<std::optional<OriginalLine>> original_line(const PlannedRow& row,
                                                    const RunContext& context) const {
    const std::optional<OriginalLine> none;
    const DumpSet& golden_set = row.golden_is_own ? target_ : golden_;
    if (row.target->parts.empty() || row.golden->parts.empty()) return none;
    auto target = dump::EntryReader::open(target_, *row.target);
    if (!target) return target.error();
    auto golden = dump::EntryReader::open(golden_set, *row.golden);
    if (!golden) return golden.error();
    const DType t = target->reader().dtype(), g = golden->reader().dtype();
    if (target->reader().count() != golden->reader().count() || t == DType::kOpaque ||
        g == DType::kOpaque || (t == DType::kInt8) != (g == DType::kInt8))
      return none;
    auto metrics = original_metrics(*target, *golden, context);
    if (!metrics) return metrics.error();
    if (!*metrics) return none;
    OriginalLine line;
    line.token = place_of(*row.target).token;
    line.metrics = **metrics;
    line.golden_path = original_path(golden_set, *row.golden);
    line.target_path = original_path(target_, *row.target);
    line.golden_dtype = original_dtype(g);
    line.target_dtype = original_dtype(t);
    line.golden_shape = plumb::to_string(golden->reader().shape());
    line.target_shape = plumb::to_string(target->reader().shape());
    return std::optional(std::move(line));
  }

  // Types that numpy does not have are float32 by the time it looks.
  static std::string original_dtype(DType dtype) {
    const bool is_widened =
        dtype == DType::kBFloat16 || (kind_of(dtype) == DKind::kFloat && bits_of(dtype) == 8);
    return fmt::format("torch.{}", plumb::name_of(is_widened ? DType::kFloat32 : dtype));
  }

  static std::string original_path(const DumpSet& set, const Entry& entry) {
    std::error_code ignored;
    const auto path = std::filesystem::absolute(set.root, ignored).lexically_normal();
    std::string text = (path / entry.parts.front().file.str()).string();
    if (!set.traits.is_torchair_fx)
      text += fmt::format(",{},{}", entry.slot.kind == SlotKind::kInput ? "inputs" : "outputs",
                          entry.slot.index);
    return text;
  }

  // Of golden only what an operator of the target has more; what was fused away, or never became an
  // operator, has no line.
  bool is_shown(const PlannedRow& row) const {
    if (row.reason == "filtered") return false;
    if (row.target != nullptr || row.rare().damaged != nullptr) return true;
    return row.rare().owner != nullptr && row.reason != "inside_fusion" &&
           policy_.is_wanted(target_, *row.rare().owner);
  }

  static const Entry* anchor(const PlannedRow& row) {
    return row.target != nullptr ? row.target : row.rare().owner;
  }
  const pair::Torchair::Place& place_of(const Entry& entry) const {
    return policy_.place_of(target_, entry);
  }
  static std::optional<int64_t> rank_of(const PlannedRow& row) {
    if (const Entry* entry = anchor(row)) return entry->rank();
    for (std::string_view part : dump::components(row.rare().damaged->file))
      if (const auto rank = dump::rank_from(part)) return rank;
    return {};
  }
  // What a damaged file that belongs to no row says about itself.
  static std::string operator_in(const dump::Skipped& damaged) {
    const std::string_view file =
        std::string_view(damaged.file).substr(damaged.file.rfind('/') + 1);
    if (const auto fx = dump::parse_fx_name(file)) return std::string(fx->op);
    if (const auto device = dump::parse_device_name(file)) return std::string(device->op);
    return std::string(file);
  }

  // Inputs before outputs, by number; what golden has more behind them.
  using Key =
      std::tuple<bool, int64_t, int64_t, int64_t, std::string_view, bool, int64_t, bool, size_t>;
  Key key(size_t i) const {
    const PlannedRow& row = plan_[i];
    const Entry* entry = anchor(row);
    if (entry == nullptr) return {true, 0, 0, 0, "", false, 0, false, i};
    const pair::Torchair::Place& place = place_of(*entry);
    const dump::Slot& slot = (row.target != nullptr ? row.target : row.golden)->slot;
    return {false,
            place.graph.value_or(0),
            place.token,
            entry->timestamp,
            entry->operator_name,
            slot.kind != SlotKind::kInput,
            slot.index,
            row.target == nullptr,
            i};
  }

  // The line borrows its names until the next one is made.
  Line line_of(size_t i) {
    const PlannedRow& row = plan_[i];
    const result::Row& compared = rows_[i];
    Line line;
    if (const Entry* entry = anchor(row)) {
      line.api = entry->operator_name;
      line.rank = entry->rank();
      line.graph = place_of(*entry).graph;
      line.token = place_of(*entry).token;
    } else {
      line.api = damaged_name_ = operator_in(*row.rare().damaged);
      line.rank = rank_of(row);
    }
    line.target_name = target_name_ = name_of(target_, row.target);
    line.golden_name = golden_name_ = name_of(row.golden_is_own ? target_ : golden_, row.golden);
    if (row.rare().damaged != nullptr)
      (row.damaged_is_target ? line.target_name : line.golden_name) = row.rare().damaged->file;
    line.rule = row.rule;
    if (const Entry* entry = row.target != nullptr ? row.target : row.golden)
      line.io = entry->slot.kind == SlotKind::kInput    ? "input"
                : entry->slot.kind == SlotKind::kOutput ? "output"
                                                        : "other";
    if (compared.target) {
      line.target_dtype = compared.target->dtype;
      line.target_shape = shape_of_side(*compared.target);
    }
    if (compared.golden) {
      line.golden_dtype = compared.golden->dtype;
      line.golden_shape = shape_of_side(*compared.golden);
    }
    return line;
  }

  // Of a row without numbers: sizes differ, or there was nothing to compare.
  static Judged judge_without(const result::Row& row) {
    Judged judged;
    if (row.verdict == result::Verdict::kFail)
      judged = {.result = "FAIL", .accuracy = "No", .level = "error", .clauses = {}};
    const auto count = [](const std::optional<result::Side>& side) {
      return side && side->shape ? element_count(*side->shape) : std::nullopt;
    };
    const auto target = count(row.target), golden = count(row.golden);
    if (judged.result == "FAIL" && target && golden)
      judged.add(fmt::format("element count differs: {} vs {}", *target, *golden));
    else
      judged.add(!row.message.empty()   ? row.message
                 : !row.reasons.empty() ? row.reasons.front()
                                        : "not compared");
    return judged;
  }

  Result<void> write_rank(std::optional<int64_t> rank, const std::vector<size_t>& rows,
                          Written& written) {
    std::vector<size_t> real, recorded;
    // What has neither goes with the others of its kind.
    const bool any_real = std::any_of(rows.begin(), rows.end(),
                                      [&](size_t i) { return collector_[i].real.has_value(); });
    const bool any_recorded = std::any_of(
        rows.begin(), rows.end(), [&](size_t i) { return collector_[i].recorded.has_value(); });
    for (size_t i : rows)
      (collector_[i].recorded || (any_recorded && !any_real) ? recorded : real).push_back(i);
    const std::string stem = name_of_result("plumb_cmp_report", rank, utc_time_stamp());
    if (!real.empty())
      if (auto done = write_real(stem, real, written); !done) return done;
    if (!recorded.empty())
      if (auto done =
              write_statistics(real.empty() ? stem : stem + "_statistics", recorded, written);
          !done)
        return done;
    return {};
  }

  Result<void> write_real(const std::string& stem, const std::vector<size_t>& rows,
                          Written& written) {
    const FileStyle style{Mode::kRealData, run_.documented_only, run_.as_xlsx};
    auto file = ResultFile::create(run_.output, stem, header_of(style), run_.as_xlsx);
    if (!file) return file.error();
    for (size_t i : rows) {
      Line line = line_of(i);
      if (const auto& data = collector_[i].real) {
        line.metrics = &*data;
        line.judged = judge(*data);
        line.target = data->target;
        line.golden = data->golden;
        line.first_bad = data->first_bad;
        if (transposed(line)) line.judged.add("the shapes are transposed");
      } else {
        line.judged = judge_without(rows_[i]);
      }
      written.add(line, style, *file);
    }
    return written.add(*file);
  }

  static bool transposed(const Line& line) {
    if (line.target_shape == nullptr || line.golden_shape == nullptr ||
        *line.target_shape == *line.golden_shape)
      return false;
    Shape a = squeezed(*line.target_shape), b = squeezed(*line.golden_shape);
    if (a == b) return false;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }

  // Rows of one operator are judged together.
  Result<void> write_statistics(const std::string& stem, const std::vector<size_t>& rows,
                                Written& written) {
    const FileStyle style{Mode::kStatistics, run_.documented_only, run_.as_xlsx};
    auto file = ResultFile::create(run_.output, stem, header_of(style), run_.as_xlsx);
    if (!file) return file.error();
    for (size_t first = 0; first < rows.size();) {
      size_t last = first + 1;
      while (last < rows.size() && plan_[rows[last]].index == plan_[rows[first]].index) ++last;
      std::vector<StatisticRow> api;
      for (size_t k = first; k < last; ++k) api.push_back(statistic_row(rows[k]));
      std::vector<Differences> differences;
      for (const StatisticRow& row : api) differences.push_back(differences_of(row));
      std::vector<Judged> judged = judge_statistics({api, ""}, differences);
      for (size_t k = first; k < last; ++k) {
        Line line = line_of(rows[k]);
        const StatisticRow& row = api[k - first];
        line.metrics = &differences[k - first];
        line.judged = row.is_matched ? std::move(judged[k - first]) : judge_without(rows_[rows[k]]);
        line.target = side_numbers(*row.target);
        line.golden = side_numbers(*row.golden);
        written.add(line, style, *file);
      }
      first = last;
    }
    return written.add(*file);
  }

  StatisticRow statistic_row(size_t i) const {
    StatisticRow row;
    const Entry* entry = plan_[i].target != nullptr ? plan_[i].target : plan_[i].golden;
    row.is_output = entry != nullptr && entry->slot.kind == SlotKind::kOutput;
    const auto& recorded = collector_[i].recorded;
    row.is_matched = recorded.has_value();
    if (recorded) {
      row.target = &recorded->target;
      row.golden = &recorded->golden;
    }
    const auto& side = rows_[i].target;
    row.is_empty = side && side->shape && element_count(*side->shape) == 0;
    return row;
  }

  const TorchairRun& run_;
  const TorchairPolicy& policy_;
  const DumpSet& target_;
  const DumpSet& golden_;
  const std::vector<PlannedRow>& plan_;
  const Collector& collector_;
  std::vector<result::Row> rows_;                         // parallel to the plan
  std::string target_name_, golden_name_, damaged_name_;  // in the line being written
};

}  // namespace

Result<Written> compare_torchair(const TorchairRun& run, RunContext& context) {
  TorchairPolicy policy(run);
  auto session = open_comparison(run, policy, context);
  if (!session) return session.error();
  const SessionState& state = session->state();
  Written written;
  written.warnings = run.notes;
  written.warnings.insert(written.warnings.end(), policy.pairs.warnings.begin(),
                          policy.pairs.warnings.end());
  for (const DumpSet* set : {&state.target, &state.golden})
    written.warnings.insert(written.warnings.end(), set->warnings.begin(), set->warnings.end());
  TorchairComparison comparison(run, policy, state);
  Result<void> done;
  if (run.as_original)
    done = comparison.write_original(context, written);
  else
    done = comparison.write_documented(stream_all(*session, context), written);
  if (!done) return done.error();
  written.interrupted = context.cancelled;
  return written;
}

}  // namespace plumb::msprobe
