// SPDX-License-Identifier: Apache-2.0
#include "report/headline.h"

#include <cmath>

#include <fmt/format.h>

#include "report/baseline_text.h"
#include "report/text.h"

namespace plumb::report {

using result::Run;
using result::Summary;
using result::Verdict;

namespace {

std::string missing_outputs_text(const Run& run) {
  if (run.outputs_not_compared.empty()) return "";
  return fmt::format("; of the model's outputs, {} not compared",
                     run.outputs_not_compared.size() == 1
                         ? printable(run.outputs_not_compared.front()) + " was"
                         : fmt::format("{} were", run.outputs_not_compared.size()));
}

}  // namespace

std::string headline(const Run& run, const Summary& s) {
  const int64_t compared = s.rows - s.not_compared;
  const int64_t missing = s.not_compared - s.excused();
  std::string text;
  switch (s.verdict) {
    case Verdict::kPass:
      text = compared == 1 ? "the tensor agrees" : fmt::format("all {} tensors agree", compared);
      if (s.suspicious > 0)
        text += compared == 1 ? ", narrowly" : fmt::format(", {} of them narrowly", s.suspicious);
      break;
    case Verdict::kFail:
      if (s.fail > 0)
        text = compared == 1 ? "the tensor differs"
                             : fmt::format("{} of {} compared tensors differ{}", s.fail, compared,
                                           s.fail == 1 ? "s" : "");
      if (run.baseline && !run.baseline->holds())
        text += (text.empty() ? "" : ", and ") + baseline_headline(*run.baseline);
      text += missing_outputs_text(run);
      break;
    case Verdict::kInconclusive:
      text = "no tensor differs";
      if (s.inconclusive > 0)
        text = fmt::format(
            "no difference is proven, {} inconclusive",
            s.inconclusive == 1 ? "1 tensor is" : fmt::format("{} tensors are", s.inconclusive));
      if (missing > 0)
        text += fmt::format(", {} {} {} not compared", s.inconclusive > 0 ? "and" : "but", missing,
                            missing == 1 ? "was" : "were");
      text += missing_outputs_text(run);
      // Of models that were run, samples that could not be.
      if (!run.doubts.empty())
        text += run.command == "compare" ? "; the graph does not fit the dump"
                                         : "; the warnings tell what was not compared";
      break;
    case Verdict::kNotCompared:
      text = s.rows == 0            ? "there was nothing to compare"
             : s.rows == s.filtered ? "everything was filtered"
                                    : "no pair of tensors could be compared";
      break;
  }
  return text + (run.interrupted ? "; interrupted before the end" : "");
}

std::string outputs_text(const Summary& s) {
  const auto part = [](const result::Counts& counts) {
    const int64_t compared = counts.rows - counts.not_compared;
    if (compared == 0) return std::string("nothing was compared");
    if (counts.fail > 0)
      return fmt::format("{} of {} differ{}", counts.fail, compared, counts.fail == 1 ? "s" : "");
    if (counts.inconclusive > 0)
      return fmt::format("{} of {} inconclusive", counts.inconclusive, compared);
    return compared == 1 ? std::string("it agrees") : fmt::format("all {} agree", compared);
  };
  return fmt::format("{}; inside the model: {}", part(s.outputs), part(s.layers));
}

std::string totals_text(const Summary& s) {
  std::string text = fmt::format("{} = {} pass + {} fail", s.rows, s.pass, s.fail);
  if (s.inconclusive > 0) text += fmt::format(" + {} inconclusive", s.inconclusive);
  if (s.not_compared > 0) text += fmt::format(" + {} not compared", s.not_compared);
  return text;
}

std::string coverage_text(const Summary& s) {
  const int64_t compared = s.rows - s.not_compared, wanted = s.rows - s.excused();
  const double percent = std::floor(s.coverage * 1000) / 10;
  return fmt::format("{} %, {} of {}", percent, compared,
                     counted(static_cast<size_t>(wanted), "tensor"));
}

}  // namespace plumb::report
