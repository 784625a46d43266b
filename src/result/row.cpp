// SPDX-License-Identifier: Apache-2.0
#include "plumb/row.h"

#include <algorithm>

namespace plumb::result {

bool Row::is_filtered() const {
  return std::find(reasons.begin(), reasons.end(), "filtered") != reasons.end();
}

bool Row::has_no_counterpart() const {
  return verdict == Verdict::kNotCompared &&
         std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
           return reason == "no_counterpart" || reason == "inside_fusion" ||
                  reason == "quantized_interior";
         });
}

Colour colour_of(const Row& row) {
  switch (row.verdict) {
    case Verdict::kPass: return row.suspicious ? Colour::kYellow : Colour::kGreen;
    case Verdict::kFail: return Colour::kRed;
    case Verdict::kInconclusive: return Colour::kYellow;
    case Verdict::kNotCompared: break;
  }
  return Colour::kGrey;
}

Colour colour_of(const Summary& summary) {
  switch (summary.verdict) {
    case Verdict::kPass: return Colour::kGreen;
    case Verdict::kInconclusive: return Colour::kYellow;
    default: return Colour::kRed;
  }
}

void Counts::add(const Row& row) {
  ++rows;
  pass += row.verdict == Verdict::kPass;
  fail += row.verdict == Verdict::kFail;
  inconclusive += row.verdict == Verdict::kInconclusive;
  not_compared += row.verdict == Verdict::kNotCompared;
  excused += row.verdict == Verdict::kNotCompared && row.is_excused();
}

Verdict Counts::verdict() const {
  if (fail > 0) return Verdict::kFail;
  if (rows == not_compared) return Verdict::kNotCompared;
  return inconclusive > 0 || not_compared > excused ? Verdict::kInconclusive : Verdict::kPass;
}

void Summary::add(const Row& row) {
  ++rows;
  (row.is_model_output ? outputs : layers).add(row);
  switch (row.verdict) {
    case Verdict::kPass:
      ++pass;
      if (row.suspicious) ++suspicious;
      break;
    case Verdict::kFail:
      ++fail;
      if (first_divergence) break;
      first_divergence = static_cast<size_t>(rows - 1);
      first_divergence_operator = row.any_side().operator_name;
      break;
    case Verdict::kInconclusive: ++inconclusive; break;
    case Verdict::kNotCompared:
      ++not_compared;
      if (row.is_filtered()) ++filtered;
      if (row.has_no_counterpart()) ++without_counterpart;
      break;
  }
}

void Summary::conclude(const Run& run) {
  if (!run.is_ordered) first_divergence.reset();
  const int64_t compared = rows - not_compared;
  const int64_t wanted = rows - excused();
  if (wanted > 0) coverage = static_cast<double>(compared) / static_cast<double>(wanted);
  const bool is_worse = run.baseline && !run.baseline->holds();
  if (fail > 0 || (is_worse && compared > 0))
    verdict = Verdict::kFail;
  else if (compared == 0)
    verdict = Verdict::kNotCompared;
  else if (inconclusive > 0 || compared < wanted || run.interrupted ||
           !run.outputs_not_compared.empty() || !run.doubts.empty())
    verdict = Verdict::kInconclusive;
}

Summary Run::summary() const {
  Summary summary;
  for (const Row& row : rows) summary.add(row);
  summary.conclude(*this);
  return summary;
}

std::string_view Run::sample_of(const Row& row) const {
  const int64_t place = samples.size() == 1 ? 0 : row.step.value_or(-1);
  if (place < 0 || place >= std::ssize(samples)) return {};
  return samples[static_cast<size_t>(place)];
}

metrics::Value Run::value(const Row& row, std::string_view metric) const {
  for (size_t i = 0; i < metrics.size() && i < row.values.size(); ++i)
    if (metrics[i]->name == metric) return row.values[i];
  return metrics::Value::undefined("not computed");
}

}  // namespace plumb::result
