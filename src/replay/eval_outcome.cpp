// SPDX-License-Identifier: Apache-2.0
#include "replay/eval_outcome.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/json_values.h"

namespace plumb::replay {
namespace {

constexpr uint64_t kMostJournalClasses = 1 << 30;  // of a journal that somebody made

// What optional_json wrote: equal scores have an infinite ratio, which a resumed run must not lose.
std::optional<double> number_from(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

bool is_right(const ModelOutcome& model, int64_t n) { return model.rank >= 0 && model.rank < n; }

// A mean over samples, in their order.
struct Mean {
  double sum = 0;
  int64_t count = 0;
  void add(const std::optional<double>& value) {
    if (!value) return;
    sum += *value;
    ++count;
  }
  std::optional<double> value() const {
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
  }
};

std::string percent(double share) { return fmt::format("{:+.2f} %", share * 100); }

class Summary {
 public:
  Summary(const std::vector<Outcome>& outcomes, const std::vector<std::optional<int64_t>>& labels,
          const EvalOptions& options, int64_t classes)
      : outcomes_(outcomes), labels_(labels), options_(options), classes_(classes) {}

  void fill(size_t place, EvalModel& model) const {
    count(place, model);
    if (model.is_golden) return;
    find_bad_cases(place, model);
    find_worst_classes(place, model);
    judge(model);
  }

 private:
  void count(size_t place, EvalModel& model) const {
    Mean pearson, sqnr;
    for (const int64_t n : options_.tops)
      if (n < classes_) model.tops.emplace_back().n = n;
    for (const Outcome& outcome : outcomes_) {
      const ModelOutcome &own = outcome.models[place], &golden = outcome.models[options_.golden];
      ++model.samples;
      model.agree += own.first >= 0 && own.first == golden.first;
      model.ties += own.is_tied;
      model.nan += own.first < 0;
      pearson.add(own.pearson);
      sqnr.add(own.sqnr_db);
      if (!labels_[outcome.sample]) continue;
      ++model.labelled;
      for (EvalTop& top : model.tops) {
        const bool right = is_right(own, top.n), was_right = is_right(golden, top.n);
        top.right += right;
        ++top.flips.samples;
        top.flips.lost += was_right && !right;
        top.flips.gained += right && !was_right;
      }
    }
    model.pearson = pearson.value();
    model.sqnr_db = sqnr.value();
  }

  void find_bad_cases(size_t place, EvalModel& model) const {
    for (const Outcome& outcome : outcomes_) {
      const ModelOutcome &own = outcome.models[place], &golden = outcome.models[options_.golden];
      const bool is_bad = labels_[outcome.sample] ? is_right(golden, 1) && !is_right(own, 1)
                                                  : own.first < 0 || own.first != golden.first;
      if (is_bad) model.bad_cases.push_back({outcome.sample, own.first, golden.first, own.rank});
    }
    std::stable_sort(model.bad_cases.begin(), model.bad_cases.end(),
                     [](const BadCase& a, const BadCase& b) { return a.rank > b.rank; });
  }

  void find_worst_classes(size_t place, EvalModel& model) const {
    std::map<int64_t, Flips> by_class;
    for (const Outcome& outcome : outcomes_) {
      const auto& label = labels_[outcome.sample];
      if (!label) continue;
      const bool right = is_right(outcome.models[place], 1);
      const bool was_right = is_right(outcome.models[options_.golden], 1);
      Flips& flips = by_class[*label];
      ++flips.samples;
      flips.lost += was_right && !right;
      flips.gained += right && !was_right;
    }
    for (const auto& [label, flips] : by_class)
      if (flips.lost > flips.gained) model.worst_classes.push_back({label, flips});
    std::stable_sort(model.worst_classes.begin(), model.worst_classes.end(),
                     [](const ClassLoss& a, const ClassLoss& b) {
                       return a.flips.lost - a.flips.gained > b.flips.lost - b.flips.gained;
                     });
  }

  void judge(EvalModel& model) const {
    if (model.samples == 0) return take(model, LossVerdict::kInconclusive, "nothing was evaluated");
    if (model.labelled == 0) return judge_agreement(model);
    for (EvalTop& top : model.tops) {
      top.loss = paired_loss(top.flips);
      top.verdict = judge_loss(top.loss, options_.limits);
      const std::string change =
          fmt::format("top-{} changed by {}, 95 % interval {} to {}", top.n,
                      percent(top.loss.delta), percent(top.loss.low), percent(top.loss.high));
      if (top.verdict == LossVerdict::kInconclusive) {
        const int64_t needed = samples_needed(top.flips, options_.limits.allowed);
        model.needed = std::max(model.needed.value_or(0), needed);
        take(model, top.verdict,
             fmt::format("{}: {} samples cannot tell a loss of {:g} %, about {} could", change,
                         top.flips.samples, options_.limits.allowed * 100, needed));
      } else {
        take(model, top.verdict, change);
      }
    }
  }

  // Without labels: whoever agrees cannot have lost more than the samples on which they differ.
  void judge_agreement(EvalModel& model) const {
    const Flips flips{model.samples, model.samples - model.agree, 0};
    const bool is_sure = judge_loss(paired_loss(flips), options_.limits) == LossVerdict::kPass;
    if (!is_sure) model.needed = samples_needed(flips, options_.limits.allowed);
    take(model, is_sure ? LossVerdict::kPass : LossVerdict::kInconclusive,
         is_sure ? fmt::format("it differs from golden on {} of {} samples: whatever is right, it "
                               "cannot have lost more than {:g} %",
                               flips.lost, flips.samples, options_.limits.allowed * 100)
                 : fmt::format("it differs from golden on {} of {} samples: only labels can tell "
                               "whether accuracy was lost",
                               flips.lost, flips.samples));
  }

  // The worst is told.
  static void take(EvalModel& model, LossVerdict verdict, std::string reason) {
    if (!model.reason.empty() && verdict <= model.verdict) return;
    model.verdict = verdict;
    model.reason = std::move(reason);
  }

  const std::vector<Outcome>& outcomes_;
  const std::vector<std::optional<int64_t>>& labels_;
  const EvalOptions& options_;
  const int64_t classes_;
};

}  // namespace

std::string line_of(const EvalFacts& facts) {
  return line_of_json({{"classes", facts.classes}, {"outputs", facts.outputs}});
}

std::optional<EvalFacts> facts_from(std::string_view line, size_t models) {
  const Json json = parse_json(line);
  if (!json.is_object() || !json.contains("classes") || !json["classes"].is_number_unsigned() ||
      !json.contains("outputs") || !json["outputs"].is_array() || json["outputs"].size() != models)
    return std::nullopt;
  if (json["classes"].get<uint64_t>() > kMostJournalClasses) return std::nullopt;
  EvalFacts facts{json["classes"].get<int64_t>(), {}};
  for (const Json& output : json["outputs"]) {
    if (!output.is_string()) return std::nullopt;
    facts.outputs.push_back(output.get<std::string>());
  }
  return facts;
}

std::string line_of(const Outcome& outcome) {
  Json models = Json::array();
  for (const ModelOutcome& model : outcome.models)
    models.push_back({model.first, model.rank, model.is_tied, optional_json(model.pearson),
                      optional_json(model.sqnr_db)});
  return line_of_json({{"sample", outcome.sample}, {"models", std::move(models)}});
}

std::optional<Outcome> outcome_from(std::string_view line, size_t samples, size_t models) {
  const Json json = parse_json(line);
  const auto is_count = [](const Json& of) { return of.is_number_integer(); };
  if (!json.is_object() || !json.contains("sample") || !json["sample"].is_number_unsigned() ||
      json["sample"].get<size_t>() >= samples || !json.contains("models") ||
      !json["models"].is_array() || json["models"].size() != models)
    return std::nullopt;
  Outcome outcome{json["sample"].get<size_t>(), {}};
  for (const Json& each : json["models"]) {
    if (!each.is_array() || each.size() != 5 || !is_count(each[0]) || !is_count(each[1]) ||
        !each[2].is_boolean())
      return std::nullopt;
    outcome.models.push_back({each[0].get<int64_t>(), each[1].get<int64_t>(), each[2].get<bool>(),
                              number_from(each[3]), number_from(each[4])});
  }
  return outcome;
}

void summarize(const std::vector<Outcome>& outcomes,
               const std::vector<std::optional<int64_t>>& labels, const EvalOptions& options,
               EvalResult& result) {
  result.limits = options.limits;
  result.evaluated = std::ssize(outcomes);
  const Summary summary(outcomes, labels, options, result.classes);
  for (size_t i = 0; i < result.models.size(); ++i) {
    EvalModel& model = result.models[i];
    summary.fill(i, model);
    // A sample that could not be evaluated may be one that was lost.
    if (!result.failures.empty() && !model.is_golden && model.verdict == LossVerdict::kPass) {
      model.verdict = LossVerdict::kInconclusive;
      model.reason = fmt::format("{} of {} samples could not be evaluated", result.failures.size(),
                                 result.names.size());
    }
    result.verdict = std::max(result.verdict, model.verdict);
  }
}

std::string samples_csv(const std::vector<Outcome>& outcomes,
                        const std::vector<std::optional<int64_t>>& labels,
                        const EvalResult& result) {
  std::string text = "sample,file,label";
  for (size_t i = 0; i < result.models.size(); ++i)
    for (const char* column : {"class", "rank", "tied"}) {
      text += ',';
      append_csv_text(text, fmt::format("{} of {}", column, result.models[i].path));
    }
  text += '\n';
  for (const Outcome& outcome : outcomes) {
    append_csv_text(text, result.names[outcome.sample]);
    text += ',';
    append_csv_text(text, result.files[outcome.sample]);
    text += labels[outcome.sample] ? fmt::format(",{}", *labels[outcome.sample]) : ",";
    for (const ModelOutcome& model : outcome.models)
      text += fmt::format(",{},{},{}", model.first,
                          model.rank < 0 ? std::string() : std::to_string(model.rank),
                          model.is_tied ? 1 : 0);
    text += '\n';
  }
  return text;
}

}  // namespace plumb::replay
