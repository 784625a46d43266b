// SPDX-License-Identifier: Apache-2.0
#include "report/model_diff_text.h"

#include <fmt/format.h>

#include "report/text.h"

namespace plumb::report {
namespace {

using graph::Difference;
using graph::DiffGrade;
using graph::ModelDiff;

constexpr size_t kMostOfGrade = 40;  // unless all are asked for

std::string grade_heading(DiffGrade grade, size_t count) {
  switch (grade) {
    case DiffGrade::kDifferent: return counted(count, "difference");
    case DiffGrade::kUnverified:
      return fmt::format("{} that only a run can tell (plumb run TARGET GOLDEN --layers all)",
                         counted(count, "place"));
    default: return fmt::format("{} written in another way, to no effect", counted(count, "place"));
  }
}

std::string coloured_by_grade(const std::string& text, DiffGrade grade) {
  const char* code = grade == DiffGrade::kDifferent    ? "31"
                     : grade == DiffGrade::kUnverified ? "33"
                                                       : "90";
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string grade_text(const ModelDiff& diff, DiffGrade grade, bool all, bool colour) {
  const size_t count = diff.count(grade);
  if (count == 0) return "";
  const std::string heading = grade_heading(grade, count);
  std::string text = "\n" + (colour ? coloured_by_grade(heading, grade) : heading) + "\n";
  // What changes nothing is only counted, unless asked for.
  if (grade == DiffGrade::kEquivalent && !all) return text;
  size_t shown = 0;
  for (const Difference& each : diff.differences) {
    if (each.grade != grade) continue;
    if (!all && shown++ == kMostOfGrade)
      return text + fmt::format("  ... and {} more (--all shows them)\n", count - kMostOfGrade);
    text += fmt::format("  {:<12} {:<20} {}\n", name_of(each.kind), printable(each.detail),
                        printable(each.message));
  }
  return text;
}

std::string model_side_text(const char* name, const std::string& path, const ModelDiff::Side& of) {
  return fmt::format("{}  {}: {}, {} paired, {} in changed places, {} without a part in it\n", name,
                     printable(path), counted(of.operators, "operator"), of.paired, of.in_regions,
                     of.idle);
}

}  // namespace

std::string model_diff_text(const ModelDiff& diff, const graph::DiffPaths& paths, bool all,
                            bool colour) {
  std::string text = model_side_text("target", paths.target, diff.target) +
                     model_side_text("golden", paths.golden, diff.golden) +
                     fmt::format("compared  {} and {}", counted(diff.attributes, "attribute"),
                                 counted(diff.constants, "constant"));
  if (diff.not_compared > 0)
    text += fmt::format("; {} could not be", counted(diff.not_compared, "constant"));
  text += "\n";
  for (const DiffGrade grade :
       {DiffGrade::kDifferent, DiffGrade::kUnverified, DiffGrade::kEquivalent})
    text += grade_text(diff, grade, all, colour);
  return text + fmt::format("\n{}\n", diff.count(DiffGrade::kDifferent) > 0 ? "the models differ"
                                      : diff.is_same()
                                          ? "the same model"
                                          : "no difference found, but only a run can tell");
}

}  // namespace plumb::report
