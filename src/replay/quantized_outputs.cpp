// SPDX-License-Identifier: Apache-2.0
#include "replay/quantized_outputs.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "graph/scores.h"

namespace plumb::replay {
namespace {

using result::Row;

// Samples whose class is another, or whose scores are beyond the limits. Networks that lose no
// point of top-1 exchange the first two classes of up to one sample in fifteen.
constexpr size_t kOneInMayBeOff = 10;
// Noise of classes that stay in their order: its limit is that of outputs for which the order does
// not matter, and a factor of two is left.
constexpr double kSpareDb = 6.0206;

constexpr std::string_view kLimit = "limit:", kWarning = "warning:";

OutputPlace place_of(const graph::Edge& edge) {
  return {edge.producer, fmt::format("output:{}", edge.output)};
}

OutputPlace place_of(const Row& row) { return {row.golden->operator_name, row.golden->slot}; }

bool fails_by_limits(const Row& row) {
  return row.verdict == result::Verdict::kFail &&
         std::all_of(row.reasons.begin(), row.reasons.end(),
                     [](const std::string& reason) { return reason.starts_with(kLimit); });
}

// What was beyond a limit is told still.
void pass_narrowly(Row& row, const std::string& why) {
  for (std::string& reason : row.reasons)
    if (reason.starts_with(kLimit)) reason.replace(0, kLimit.size(), kWarning);
  row.verdict = result::Verdict::kPass;
  row.suspicious = true;
  row.message = row.message.empty() ? why : fmt::format("{}; {}", why, row.message);
  row.hint.clear();
}

// An output that tells classes, and the rows by which it is judged.
struct ClassOutput {
  const Scores::Counts* counts = nullptr;
  size_t samples = 0, off = 0;
  bool is_sure = false;  // shares are made of them: a list of numbers alone may be anything

  size_t may_be_off() const { return samples / kOneInMayBeOff; }
  const result::Disagreement* disagreement(const Row& row) const {
    return counts->disagreement_on(row.step.value_or(0));
  }
};

class OutputJudge {
 public:
  OutputJudge(const ScoresBehind& behind, std::span<const Scores::Counts> classes,
              const result::Run& run)
      : run_(run) {
    std::set<OutputPlace> compared;
    for (const Row& row : run.rows)
      if (row.golden && row.verdict != result::Verdict::kNotCompared)
        compared.insert(place_of(row));
    for (const auto& [shares, own] : behind)
      if (compared.contains(own)) behind_.emplace(shares, own);
    const auto limit = std::find_if(run.limits.begin(), run.limits.end(), [](const auto& each) {
      return each.metric == "sqnr_db" && each.dtype.empty();
    });
    if (limit != run.limits.end()) least_db_ = limit->value - kSpareDb;
    for (const Row& row : run.rows)
      if (row.target && row.golden && row.is_model_output)
        for (const Scores::Counts& counts : classes)
          if (counts.output == row.target->operator_name) add_class_output(place_of(row), counts);
    for (const Row& row : run.rows) {
      ClassOutput* output = class_output(row);
      if (output == nullptr || row.verdict == result::Verdict::kNotCompared) continue;
      ++output->samples;
      output->off += is_off(*output, row);
    }
  }

  bool settle(Row& row) {
    if (!row.golden) return false;
    const OutputPlace place = place_of(row);
    if (const auto found = behind_.find(place); found != behind_.end())
      return settle_shares(found->second, row);
    const ClassOutput* output = class_output(row);
    const bool changed = output != nullptr && settle_classes(*output, row);
    if (row.verdict == result::Verdict::kPass)
      agreeing_scores_.insert({row.step.value_or(0), place});
    return changed;
  }

 private:
  void add_class_output(const OutputPlace& output, const Scores::Counts& counts) {
    const auto scores = behind_.find(output);
    ClassOutput& added = by_class_[scores == behind_.end() ? output : scores->second];
    added.counts = &counts;
    added.is_sure = scores != behind_.end();
  }
  ClassOutput* class_output(const Row& row) {
    if (!row.golden) return nullptr;
    const auto found = by_class_.find(place_of(row));
    return found == by_class_.end() ? nullptr : &found->second;
  }

  // Too much noise, but neither in another direction nor of another class.
  bool is_only_noisy(const ClassOutput& output, const Row& row) const {
    if (row.reasons != std::vector<std::string>{"limit:sqnr_db"} || output.disagreement(row))
      return false;
    const metrics::Value db = run_.value(row, "sqnr_db");
    return db.is_defined() && db.number() >= least_db_;
  }
  bool is_off(const ClassOutput& output, const Row& row) const {
    return output.disagreement(row) != nullptr ||
           (row.verdict == result::Verdict::kFail && !is_only_noisy(output, row));
  }

  bool settle_classes(const ClassOutput& output, Row& row) const {
    const result::Disagreement* other = output.disagreement(row);
    const bool fails = row.verdict == result::Verdict::kFail;
    // What is inconclusive stays so: nobody knows that it is within limits.
    if (!fails && (other == nullptr || row.verdict != result::Verdict::kPass)) return false;
    const std::string share = fmt::format("{} of {} samples are off", output.off, output.samples);
    const std::string classes =
        other ? fmt::format("class {} instead of {}, ", other->target, other->golden) : "";
    if (fails && !fails_by_limits(row)) return false;
    if (!is_off(output, row)) {
      pass_narrowly(row, "the class is the same");
    } else if (output.off <= output.may_be_off() ||
               (!fails && (output.may_be_off() == 0 || !output.is_sure))) {
      pass_narrowly(row, classes + share);
    } else if (other) {
      row.verdict = result::Verdict::kFail;
      row.suspicious = false;
      row.reasons.insert(row.reasons.begin(), "class_differs");
      row.message =
          fmt::format("{}{}{}{}", classes, share, row.message.empty() ? "" : "; ", row.message);
    } else {
      return false;
    }
    return true;
  }

  // The scores stand before them, in order of execution.
  bool settle_shares(const OutputPlace& scores, Row& row) const {
    if (!fails_by_limits(row) || !agreeing_scores_.contains({row.step.value_or(0), scores}))
      return false;
    pass_narrowly(row, "judged by the scores that it is made of, " + scores.op);
    return true;
  }

  ScoresBehind behind_;  // that were compared
  const result::Run& run_;
  double least_db_ = std::numeric_limits<double>::infinity();
  std::map<OutputPlace, ClassOutput> by_class_;                // by what is judged
  std::set<std::pair<int64_t, OutputPlace>> agreeing_scores_;  // by sample
};

}  // namespace

ScoresBehind scores_behind_outputs(const graph::Graph& golden) {
  ScoresBehind behind;
  for (const graph::Edge& output : golden.outputs)
    if (const auto scores = graph::scores_behind(golden, output))
      behind.emplace(place_of(output), place_of(*scores));
  return behind;
}

void judge_quantized_outputs(const ScoresBehind& behind, std::span<const Scores::Counts> classes,
                             result::Run& run) {
  OutputJudge judge(behind, classes, run);
  run.rows.change_each([&](size_t, Row& row) { return judge.settle(row); });
}

}  // namespace plumb::replay
