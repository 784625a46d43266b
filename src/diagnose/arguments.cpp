// SPDX-License-Identifier: Apache-2.0
//
// A call that was made with another argument than golden's: a stride, a flag, a name. Dumps of
// PyTorch and MindSpore record them as they are.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

std::string argument_names(const Suspect& suspect) {
  std::string names;
  constexpr size_t kMost = 3;
  const std::vector<size_t>& rows = suspect.node.arguments;
  for (size_t i = 0; i < std::min(kMost, rows.size()); ++i)
    names += (i == 0 ? "" : ", ") + suspect.of.run.rows[rows[i]].target->slot;
  return rows.size() > kMost ? fmt::format("{} and {} more", names, rows.size() - kMost) : names;
}

// A number may be computed by the program: then it differs because something before it does.
bool may_be_inherited(const Suspect& suspect) {
  const auto is_number = [&](size_t row) {
    return suspect.of.run.rows[row].target->dtype == "float";
  };
  const std::vector<size_t>& rows = suspect.node.arguments;
  const auto fails = [&](size_t row) {
    return suspect.of.run.rows[row].verdict == result::Verdict::kFail;
  };
  const std::vector<size_t>& inputs = suspect.node.inputs;
  return std::all_of(rows.begin(), rows.end(), is_number) &&
         std::any_of(inputs.begin(), inputs.end(), fails);
}

}  // namespace

std::optional<result::Finding> explain_arguments(const Suspect& suspect) {
  if (suspect.node.arguments.empty()) return {};
  // What the program says is no consequence of an error before it.
  result::Finding finding = finding_about(suspect, may_be_inherited(suspect) ? 0.6 : 0.96);
  const result::Row& first = suspect.of.run.rows[suspect.node.arguments.front()];
  finding.detail = "argument:" + first.target->slot.substr(first.target->slot.find(':') + 1);
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < std::min(kMost, suspect.node.arguments.size()); ++i) {
    const size_t place = suspect.node.arguments[i];
    const result::Row& row = suspect.of.run.rows[place];
    finding.evidence.push_back({fmt::format("{}: {}", row.target->slot, row.message),
                                static_cast<int64_t>(place), "", std::nullopt});
  }
  finding.evidence.push_back(
      {suspect.node.arguments.size() == 1
           ? "1 argument differs"
           : fmt::format("{} arguments differ", suspect.node.arguments.size()),
       std::nullopt, "", static_cast<double>(suspect.node.arguments.size())});
  finding.advice = fmt::format(
      "{} was called otherwise than in golden ({}): look at the line of the program that calls it, "
      "and at the configuration that it reads.",
      suspect.accused, argument_names(suspect));
  finding.next = look_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
