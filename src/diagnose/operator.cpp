// SPDX-License-Identifier: Apache-2.0
//
// What is left when nothing more special fits: the target is golden after a simple change, or the
// operator computes something else.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

constexpr Threshold kOperatorTable[] = {
    {"step", kStep, "how many times the error that inputs and noise explain its output must have"},
    {"own_step", kOwnStep, "... where its own error is measured: how many times the usual one"},
    {"tail_step", kTailStep, "... and of the worst tenth, in a network of 8 bits"},
    {"quiet_step", kQuietStep, "... where nothing is out of limits, of a product not measured"},
    {"quiet_least", kQuietLeast, "... and the relative error it must have there"},
};

}  // namespace

extern const std::span<const Threshold> kOperatorThresholds;
const std::span<const Threshold> kOperatorThresholds = kOperatorTable;

std::optional<result::Finding> explain_transform(const Suspect& suspect) {
  if (!suspect.transform) return {};
  result::Finding finding = finding_about(suspect, suspect.root.is_behind ? 0.55 : 0.93);
  add_transform(suspect, finding);
  finding.advice = fmt::format("{}: look for where that is done or left out on one side only.",
                               suspect.transform->text);
  finding.advice[0] =
      static_cast<char>(std::toupper(static_cast<unsigned char>(finding.advice[0])));
  finding.next = look_command(suspect);
  return finding;
}

namespace {

// An operator of golden that the target has not, right before the suspect in the order of
// execution.
std::optional<size_t> missing_before(const Suspect& suspect) {
  const result::Rows& rows = suspect.of.run.rows;
  for (size_t i = suspect.row; i-- > 0;) {
    const result::Row& row = rows[i];
    if (row.target && row.golden) break;
    const bool is_gone = !row.target && !row.reasons.empty() &&
                         (row.reasons[0] == "no_counterpart" || row.reasons[0] == "no_target");
    if (is_gone && row.golden->slot.starts_with("output") && !row.golden->type.empty() &&
        !only_moves_values(row.golden->type) && !row.golden->type.starts_with("Const") &&
        row.golden->type != "Data")
      return i;
  }
  return std::nullopt;
}

// What it reads, where that is known; without a graph only what came before it is.
std::string_view what_agrees(const Suspect& suspect) {
  if (!suspect.node.in.is_known() || 3 * suspect.root.in >= suspect.root.out) return "";
  const bool knows_reads = suspect.of.net.has_edges || !suspect.node.inputs.empty();
  return knows_reads ? " from inputs that agree" : " where what ran before it agrees";
}

}  // namespace

// Two arrays that nothing is known of are no operators.
std::optional<result::Finding> explain_operator(const Suspect& suspect) {
  if (!suspect.of.run.network && suspect.node.type.empty() && suspect.of.net.nodes.size() == 1)
    return {};
  result::Finding finding = finding_about(suspect, 0.9 * confidence_of(suspect.root));
  if (const auto place = missing_before(suspect)) {
    const result::Row* const gone = &suspect.of.run.rows[*place];
    finding.detail = "missing:" + gone->golden->type;
    finding.evidence.push_back(
        {fmt::format("golden has {} ({}) right before it, the target has not",
                     gone->golden->operator_name, gone->golden->type),
         static_cast<int64_t>(*place), "", std::nullopt});
    finding.advice = fmt::format(
        "{} ({}) of golden is missing in the target: {} reads what it should "
        "have been given.",
        gone->golden->operator_name, gone->golden->type, suspect.accused);
  } else {
    const double cosine = suspect.value("cosine");
    if (!std::isnan(cosine))
      finding.evidence.push_back(evidence_of(
          suspect,
          fmt::format("cosine {}{}",
                      cosine > 0.9995 ? fmt::format("{:.8g}", cosine) : short_text(cosine),
                      what_agrees(suspect)),
          "cosine", cosine));
    finding.advice = fmt::format(
        "{}{} computes something else than the original: compare its attributes and weights "
        "(`plumb diff`), then replay it alone.",
        suspect.accused,
        suspect.node.type.empty() || suspect.accused != suspect.node.name
            ? ""
            : fmt::format(" ({})", suspect.node.type));
  }
  if (const auto one = suspect.values ? one_channel(*suspect.values) : std::nullopt) {
    finding.detail = fmt::format("channel:{}", one->channel);
    finding.evidence.push_back(evidence_of(
        suspect,
        fmt::format(
            "channel {} of {} (axis {}) alone has {} of the squared error: its values are {} "
            "times golden's",
            one->channel, one->channels, one->axis, percent_text(one->share),
            short_text(one->factor)),
        "", one->factor));
  }
  finding.next = look_command(suspect);
  return finding;
}

}  // namespace plumb::diagnose
