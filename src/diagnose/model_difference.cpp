// SPDX-License-Identifier: Apache-2.0
//
// The models themselves differ at a suspect: its weights, how finely they are stored, or what the
// operator was told. A difference is blamed only if it is large enough for the error that the
// operator makes.
#include <algorithm>

#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

using graph::Difference;
using graph::DiffKind;

// Weights whose difference is so much smaller than the error cannot have made it: a product of
// rounded numbers is no worse than they are, but for terms that cancel each other.
constexpr double kLeastShare = 0.01;
constexpr Threshold kModelTable[] = {
    {"share", kLeastShare,
     "of the operator's own error that the relative difference of its weights must have"},
};

double own_error_of(const Suspect& suspect) {
  if (!std::isnan(suspect.node.own)) return suspect.node.own;
  return suspect.root.out;
}

bool is_large_enough(const Suspect& suspect, const Difference& each) {
  if (!each.numbers) return true;
  const double own = own_error_of(suspect);
  return std::isinf(own) || each.numbers->relative_norm >= kLeastShare * own;
}

template <class Fits>
const Difference* first(const Suspect& suspect, Fits fits) {
  for (const Difference* each : suspect.differences)
    if (fits(*each) && is_large_enough(suspect, *each)) return each;
  return nullptr;
}

result::Finding finding_of(const Suspect& suspect, const Difference& chosen) {
  result::Finding finding = finding_about(suspect, suspect.root.is_behind ? 0.6 : 0.96);
  finding.detail = chosen.detail;
  add_differences(suspect, finding);
  const double cosine = suspect.value("cosine");
  if (!std::isnan(cosine))
    finding.evidence.push_back(
        evidence_of(suspect, fmt::format("its output has a cosine of {:.6g} to golden's", cosine),
                    "cosine", cosine));
  finding.next = suspect.of.commands.diff();
  if (finding.next.empty()) finding.next = look_command(suspect);
  return finding;
}

bool is_cast(const Difference& each) { return each.detail.starts_with("cast:"); }

}  // namespace

extern const std::span<const Threshold> kModelThresholds;
const std::span<const Threshold> kModelThresholds = kModelTable;

void add_differences(const Suspect& suspect, result::Finding& finding) {
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < std::min(kMost, suspect.differences.size()); ++i) {
    const Difference& each = *suspect.differences[i];
    finding.evidence.push_back(
        {"the models differ: " + each.message, std::nullopt, "",
         each.numbers ? std::optional(each.numbers->relative_norm) : std::nullopt});
  }
}

std::optional<result::Finding> explain_model_weights(const Suspect& suspect) {
  const Difference* found = first(suspect, [](const Difference& each) {
    return each.kind == DiffKind::kWeights && !is_cast(each);
  });
  if (found == nullptr) return {};
  result::Finding finding = finding_of(suspect, *found);
  finding.advice = fmt::format(
      "The weights of {} are not golden's: convert the very model that golden was made with, and "
      "look at what changed '{}' on the way.",
      suspect.accused, found->what);
  return finding;
}

std::optional<result::Finding> explain_model_levels(const Suspect& suspect) {
  const Difference* found =
      first(suspect, [](const Difference& each) { return each.kind == DiffKind::kQuantization; });
  if (found == nullptr || !found->detail.starts_with("levels:")) return {};
  result::Finding finding = finding_of(suspect, *found);
  finding.advice = fmt::format(
      "The weights of {} have too few levels: give them more bits, or a scale for each channel.",
      suspect.accused);
  return finding;
}

std::optional<result::Finding> explain_model_precision(const Suspect& suspect) {
  const Difference* found = first(suspect, [](const Difference& each) {
    return each.kind == DiffKind::kWeights && is_cast(each);
  });
  if (found == nullptr) return {};
  result::Finding finding = finding_of(suspect, *found);
  finding.advice = fmt::format(
      "The weights of {} were rounded to a narrower type than those of the other operators: keep "
      "it "
      "in the type of the original.",
      suspect.accused);
  return finding;
}

std::optional<result::Finding> explain_model_operator(const Suspect& suspect) {
  const Difference* found = first(suspect, [](const Difference& each) {
    return each.kind == DiffKind::kAttribute || each.kind == DiffKind::kMissing ||
           each.kind == DiffKind::kReplaced || each.kind == DiffKind::kAdded ||
           each.kind == DiffKind::kWiring;
  });
  if (found == nullptr) return {};
  result::Finding finding = finding_of(suspect, *found);
  finding.advice = fmt::format(
      "The target was told something else than golden: {}. Convert it again, and look at the step "
      "that changed this.",
      found->message);
  return finding;
}

}  // namespace plumb::diagnose
