// SPDX-License-Identifier: Apache-2.0
#include "report/symptom.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/findings_text.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Verdict;

// Outputs that are worse than this are very different.
constexpr double kLeastCosine = 0.9;
constexpr double kMostDistance = 0.45;  // that of vectors of one length with this cosine

double value_or_nan(const Run& run, const Row& row, std::string_view metric) {
  const metrics::Value value = run.value(row, metric);
  return value.is_defined() ? value.number() : std::nan("");
}

bool is_limit(const std::string& reason) { return reason.starts_with("limit:"); }

// Not a question of limits (NaN, shapes), or far beyond them.
bool is_very_different(const Run& run, const Row& row) {
  if (!std::all_of(row.reasons.begin(), row.reasons.end(), is_limit)) return true;
  return !(value_or_nan(run, row, "cosine") >= kLeastCosine) ||
         value_or_nan(run, row, "rel_euclid") > kMostDistance;
}

const Row* worst_output(const Run& run) {
  std::optional<std::pair<double, size_t>> worst;  // how bad, place
  const auto badness = [&](const Row& row) {
    const double distance = value_or_nan(run, row, "rel_euclid");
    return std::isnan(distance) ? HUGE_VAL : distance;
  };
  size_t next = 0;
  for (const Row& row : run.rows) {
    const size_t place = next++;
    if (row.is_model_output && row.verdict == Verdict::kFail &&
        (!worst || badness(row) > worst->first))
      worst = {badness(row), place};
  }
  return worst ? &run.rows[worst->second] : nullptr;
}

bool is_after_upgrade(const Run& run) {
  return run.scenario == "npu-vs-npu" || (run.baseline && !run.baseline->holds());
}

}  // namespace

bool is_board_against_simulator(const Run& run) { return run.scenario == "board-vs-simulator"; }

bool is_of_another_size(const Row& row) {
  return std::any_of(row.reasons.begin(), row.reasons.end(), [](const std::string& reason) {
    return reason == "size_mismatch" || reason == "shape_mismatch";
  });
}

std::string symptom_text(const Run& run, const result::Summary& s) {
  if (s.outputs.rows == 0) return {};
  const Row* worst = worst_output(run);
  if (worst == nullptr)
    return s.outputs.verdict() == Verdict::kPass && s.verdict != Verdict::kPass
               ? "none in the outputs; if the application is wrong all the same, its pre- or "
                 "post-processing differs"
               : "";
  const auto unlike = std::find_if_not(worst->reasons.begin(), worst->reasons.end(), is_limit);
  const std::string place = fmt::format(
      "{}: {}", printable(worst->any_side().operator_name),
      unlike != worst->reasons.end() ? printable(*unlike)
                                     : "cosine " + rounded_text(run.metrics, *worst, "cosine"));
  if (is_of_another_size(*worst))
    return fmt::format(
        "an output has another shape or size ({}){}", place,
        has_culprit(run) ? "" : ": usually another type or batch, or a file that was cut off");
  const std::string how = is_very_different(run, *worst)
                              ? fmt::format("the outputs are very different ({})", place)
                              : fmt::format("the outputs are slightly different ({})", place);
  if (is_after_upgrade(run))
    return how + " after an upgrade: usually driver, firmware and toolkit that do not match";
  if (is_board_against_simulator(run))
    return how +
           ": the simulator runs the same compiled model, so the conversion is not to blame "
           "(joint/ "
           "against onnx/ tells that); usually another input, another build, or the board's "
           "runtime";
  // Culprits, or weights and activations apart, say more than what is usual.
  if (has_culprit(run) || run.command == "quantize") return how;
  return how + (is_very_different(run, *worst)
                    ? ": usually an overflow or a wrong fusion"
                    : ": usually accumulated error, an operator's implementation or its precision");
}

}  // namespace plumb::report
