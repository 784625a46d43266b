// SPDX-License-Identifier: Apache-2.0
#include "result/row.h"

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

void Counter::add(const Row& row) {
  Summary& s = counts_;
  switch (row.verdict) {
    case Verdict::kPass:
      ++s.pass;
      if (row.suspicious) ++s.suspicious;
      break;
    case Verdict::kFail:
      ++s.fail;
      if (s.first_divergence || !is_ordered_) break;
      s.first_divergence = static_cast<size_t>(s.rows);
      s.first_divergence_operator = row.any_side().operator_name;
      break;
    case Verdict::kInconclusive: ++s.inconclusive; break;
    case Verdict::kNotCompared:
      ++s.not_compared;
      if (row.is_filtered()) ++s.filtered;
      if (row.has_no_counterpart()) ++s.without_counterpart;
      break;
  }
  ++s.rows;
}

Summary Counter::summary(const Run& run) const {
  Summary s = counts_;
  const int64_t compared = s.rows - s.not_compared;
  const int64_t wanted = s.rows - s.excused();
  if (wanted > 0) s.coverage = static_cast<double>(compared) / static_cast<double>(wanted);
  const bool is_worse = run.baseline && !run.baseline->holds();
  if (s.fail > 0 || (is_worse && compared > 0))
    s.verdict = Verdict::kFail;
  else if (compared == 0)
    s.verdict = Verdict::kNotCompared;
  else if (s.inconclusive > 0 || compared < wanted || run.interrupted ||
           !run.outputs_not_compared.empty() || !run.doubts.empty())
    s.verdict = Verdict::kInconclusive;
  return s;
}

Summary Run::summary() const {
  Counter counter(is_ordered);
  for (const Row& row : rows) counter.add(row);
  return counter.summary(*this);
}

metrics::Value Run::value(const Row& row, std::string_view metric) const {
  for (size_t i = 0; i < metrics.size() && i < row.values.size(); ++i)
    if (metrics[i]->name == metric) return row.values[i];
  return metrics::Value::undefined("not computed");
}

}  // namespace plumb::result
